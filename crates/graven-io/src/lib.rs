//! Files behind one trait: direct, buffered, io_uring, memory, faulty.
