//! A store that fails from a given write on, as if the process had been killed there.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

#[derive(Debug)]
pub(crate) struct FailingStore {
    pub(crate) inner: Arc<InMemory>,
    /// Writes that still succeed.
    pub(crate) writes: AtomicI64,
    /// Whether conditions of writes are refused, as by `file://`.
    pub(crate) unconditional: bool,
}

impl FailingStore {
    pub(crate) fn after(inner: &Arc<InMemory>, writes: i64) -> Arc<dyn ObjectStore> {
        Arc::new(FailingStore {
            inner: inner.clone(),
            writes: AtomicI64::new(writes),
            unconditional: false,
        })
    }
}

impl std::fmt::Display for FailingStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FailingStore")
    }
}

#[async_trait::async_trait]
impl ObjectStore for FailingStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        if self.unconditional && options.mode != PutMode::Overwrite {
            return Err(object_store::Error::NotImplemented {
                operation: "conditions".to_owned(),
                implementer: "the test".to_owned(),
            });
        }
        if self.writes.fetch_sub(1, Ordering::SeqCst) <= 0 {
            return Err(object_store::Error::Generic {
                store: "test",
                source: "the power went".into(),
            });
        }
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
