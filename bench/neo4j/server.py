"""Neo4j's community edition with APOC, started from Maven's artifacts: what `compare.py` and `serve.py` measure Graven against."""
import os
import shutil
import socket
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
OPENED = ["java.base/java.lang", "java.base/java.nio", "java.base/java.io", "java.base/sun.nio.ch"]


def free_port():
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return asked.getsockname()[1]


def classes(work):
    """The class path: fetched once by Maven, with our starting class and the procedures in one archive, as APOC is published."""
    kept = os.path.join(work, "classpath.txt")
    if os.path.exists(kept):
        with open(kept) as file:
            return file.read()
    for program in ("mvn", "javac", "java"):
        if not shutil.which(program):
            sys.exit(f"{program} is missing: Neo4j is started from Maven's artifacts (Java 17 or later)")
    fetched = os.path.join(work, "fetched.txt")
    subprocess.run(["mvn", "-q", "-B", "-f", os.path.join(HERE, "pom.xml"), "dependency:build-classpath", f"-Dmdep.outputFile={fetched}"], check=True)
    with open(fetched) as file:
        archives = file.read().strip().split(":")
    apoc = [archive for archive in archives if os.path.basename(archive).startswith("apoc-")]
    joined = join(apoc, os.path.join(work, "plugins", "apoc.jar"))
    path = ":".join([work, joined] + [archive for archive in archives if archive not in apoc])
    subprocess.run(["javac", "-d", work, "-cp", path, os.path.join(HERE, "Server.java")], check=True)
    with open(kept, "w") as file:
        file.write(path)
    return path


def join(archives, out):
    """One archive of several; the lists of services are put together."""
    os.makedirs(os.path.dirname(out), exist_ok=True)
    services, seen = {}, set()
    with zipfile.ZipFile(out, "w") as joined:
        for archive in archives:
            with zipfile.ZipFile(archive) as one:
                for name in one.namelist():
                    if name.startswith("META-INF/services/") and not name.endswith("/"):
                        services[name] = services.get(name, b"") + one.read(name) + b"\n"
                    elif name not in seen and not name.startswith("META-INF/MANIFEST"):
                        seen.add(name)
                        joined.writestr(name, one.read(name))
        for name, lines in services.items():
            joined.writestr(name, lines)
    return out


def start(work, megabytes=512):
    """A server of an empty database below `work`: the process, and its port."""
    path = classes(work)
    home, port = os.path.join(work, "home"), free_port()
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    shutil.copytree(os.path.join(work, "plugins"), os.path.join(home, "plugins"))
    opened = [word for package in OPENED for word in ("--add-opens", f"{package}=ALL-UNNAMED")]
    command = ["java", "-Xmx2g", *opened, "-cp", path, "Server", home, str(port), str(megabytes)]
    log = open(os.path.join(work, "neo4j.log"), "w")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    for line in process.stdout:
        if line.strip() == "up":
            return process, port
    sys.exit(f"Neo4j did not start: see {log.name}")
