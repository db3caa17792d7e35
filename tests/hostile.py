"""crowdrank where it is hard to run: `python tests/hostile.py` (or `make hostile`) tries everything in turn.

A copy of the package stands in a folder that its user cannot write, without a home, with a full disk, little memory,
damaged caches, and in forked processes. Everything else (hostile names, odd files, signals) is in the tests that are
run at the end. What needs root (another user, a small disk) is skipped, with a word, where that is not given.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
NO_HOME = "/proc/nobody"  # where not even root can make a folder
VOTES = "annotator,left,right,winner\n" + "".join(
    f"a{n % 3},i{n % 5},i{(n * 3 + 1) % 5},i{n % 5}\n" for n in range(40) if n % 5 != (n * 3 + 1) % 5
)
TESTS = [
    "tests/numerics/test_compiled.py",
    "tests/test_forking.py",
    "tests/test_saved.py",
    "tests/formats/test_saved_json.py",
    "tests/methods/supervised/cells/test_tree_text.py",
    "tests/report/test_hostile_names.py",
    "tests/formats/test_hostile_files.py",
    "tests/cli/test_hostile_output.py",
    "tests/contract/test_wrong_arguments.py",
    "tests/test_types.py",
    "tests/test_fuzz.py",
]
CHECKS: list[Callable[[Path], None]] = []


class Skipped(Exception):
    """Why something cannot be tried here."""


def check(function: Callable[[Path], None]) -> Callable[[Path], None]:
    CHECKS.append(function)
    return function


def package(folder: Path) -> Path:
    """A copy of the package without compiled code, which nobody can write."""
    shutil.copytree(ROOT / "src", folder / "package", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "votes.csv").write_text(VOTES)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return folder / "package"


def command(
    *arguments: str, source: Path, root: bool = False, limit: Callable[[], None] | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The command of this package, with this environment and no other; unless as `root`, permissions bind it."""
    bound = [] if root or os.getuid() else ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    return subprocess.run(
        [*bound, sys.executable, "-B", "-m", "crowdrank", *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(source), **environment},
        cwd=source.parent,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        timeout=3600,  # `warm-up` takes minutes, and many on a busy machine
    )


def expect(done: subprocess.CompletedProcess[str], *, note: str | None, code: int = 0) -> None:
    """Fail unless the command ended so, with at most this one note."""
    said = [line for line in done.stderr.splitlines() if line]
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr, done.stderr
    assert len(said) == (note is not None), done.stderr
    assert (note or "") in done.stderr, done.stderr


@check
def read_only_package_and_no_home(folder: Path) -> None:
    source, temporary = package(folder / "image"), folder / "tmp"
    temporary.mkdir(mode=0o777)
    temporary.chmod(0o777)
    for arguments in (("methods",), ("rank", "votes.csv", "--method", "elo")):
        done = command(*arguments, source=source, TMPDIR=str(temporary), HOME=NO_HOME)
        expect(done, note="is kept in" if arguments[0] == "rank" else None)
    again = command("rank", "votes.csv", "--method", "elo", source=source, TMPDIR=str(temporary), HOME=NO_HOME)
    expect(again, note=None)


@check
def nothing_can_be_written(folder: Path) -> None:
    """No folder of the system takes a file: where a process may write 0 bytes, none does."""
    source = package(folder / "image")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = command("rank", "votes.csv", "--method", "elo", source=source, limit=limit, HOME=NO_HOME)
    expect(done, note="cannot be kept")


@check
def full_disk(folder: Path) -> None:
    """A disk of 16 kB: the cache, and the results."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k,mode=777", "tmpfs", str(disk)]
    if os.getuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        raise Skipped("a small disk cannot be mounted")
    try:
        source = package(folder / "image")
        done = command("rank", "votes.csv", "--method", "elo", source=source, TMPDIR=str(disk), HOME=str(disk))
        expect(done, note="cannot be kept")
        with suppress(OSError):
            (disk / "fill").write_bytes(b"x" * 100_000)
        out = str(disk / "ranking.csv")
        many = ("simulate", "pairs", "--items", "50", "--annotators", "9", "--votes", "5000", "--out", out)
        done = command(*many, source=source, TMPDIR="/tmp", HOME=str(disk))
        assert done.returncode == 2, done
        assert "No space left on device" in done.stderr, done.stderr
        assert not [path for path in disk.iterdir() if "ranking" in path.name or path.name.endswith(".part")]
    finally:
        subprocess.run(["umount", str(disk)], check=False)


@check
def damaged_cache(folder: Path) -> None:
    source, cache = package(folder / "image"), folder / "cache"
    environment = {"NUMBA_CACHE_DIR": str(cache), "TMPDIR": "/tmp", "HOME": NO_HOME}
    cache.mkdir()
    cache.chmod(0o777)
    first = command("rank", "votes.csv", "--method", "elo", source=source, **environment)
    expect(first, note=None)
    for number, path in enumerate(cache.rglob("*.nbc")):
        data = path.read_bytes()
        path.write_bytes((data[: len(data) // 2], b"", data[:99] + b"\xff" + data[100:])[number % 3])
    again = command("rank", "votes.csv", "--method", "elo", source=source, **environment)
    expect(again, note=None)
    assert again.stdout == first.stdout


@check
def an_image_made_by_root_serves_everybody(folder: Path) -> None:
    """`crowdrank warm-up` compiles beside the package; others read it there, and compile nothing."""
    if os.getuid():
        raise Skipped("root makes images")
    source = package(folder / "image")
    done = command("warm-up", source=source, root=True, TMPDIR="/tmp", HOME=NO_HOME)
    assert done.returncode == 0, done.stderr
    assert "kernels are ready after" in done.stdout, done.stdout
    (folder / "tmp").mkdir(mode=0o777)
    (folder / "tmp").chmod(0o777)
    for arguments in (("rank", "votes.csv"), ("rank", "votes.csv", "--method", "elo"), ("next", "votes.csv")):
        expect(command(*arguments, source=source, TMPDIR=str(folder / "tmp"), HOME=NO_HOME), note=None)
    assert not list((folder / "tmp").rglob("*.nbc"))


@check
def little_memory(folder: Path) -> None:
    """A compressed file that becomes 20 GB is refused in 4 GB of memory."""
    source = package(folder / "image")
    bomb = folder / "bomb.csv.gz"
    line = f"(printf 'left,right,winner\\na,b,a\\n'; head -c 20000000000 /dev/zero | tr '\\0' '\\n') | gzip -1 > {bomb}"
    subprocess.run(line, shell=True, check=True)
    folder.chmod(0o755)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))

    done = command("--max-size", "1GB", "rank", str(bomb), source=source, limit=limit, TMPDIR="/tmp", HOME=NO_HOME)
    assert done.returncode == 2, done
    assert "when decompressed" in done.stderr, done.stderr


@check
def everything_else(_: Path) -> None:
    subprocess.run([sys.executable, "-m", "pytest", "-n", "0", "-q", *TESTS], cwd=ROOT, check=True)


def main() -> None:
    wanted, failed = sys.argv[1:], []
    for each in CHECKS:
        if wanted and each.__name__ not in wanted:
            continue
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            Path(folder).chmod(0o755)
            try:
                each(Path(folder))
                result = "holds"
            except Skipped as reason:
                result = f"skipped: {reason}"
            except (AssertionError, subprocess.SubprocessError) as error:
                result = f"FAILED: {error}"
                failed.append(each.__name__)
            finally:
                for path in Path(folder).rglob("*"):
                    if path.is_dir() and not path.is_symlink():
                        path.chmod(0o755)
        sys.stdout.write(f"{each.__name__.replace('_', ' ')}: {result}\n")
        sys.stdout.flush()
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
