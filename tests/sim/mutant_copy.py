"""What mutants.py works on: the texts that it replaces, and a copy of the tree."""

import filecmp
import os
import shutil
import subprocess


def misplaced(root, file, texts):
    """Says for each of the texts that is not in the file exactly once, how often."""
    try:
        source = (root / file).read_text()
    except OSError as error:
        yield f"{file}: {error.strerror}"
        return
    for text in texts:
        times = source.count(text)
        if times != 1:
            yield f"{file}: occurs {times} times, not once: {text!r}"


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def copy_if_other(source, target):
    """Unchanged files keep their time, and are not built again."""
    if not os.path.exists(target) or not filecmp.cmp(source, target, False):
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


def copy(root, scratch):
    shutil.copytree(root, scratch, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("build", ".git"),
                    copy_function=copy_if_other)


def build(scratch):
    result = run(["cmake", "--build", "--preset", "dev", "--target", "actord_sim"],
                 cwd=scratch)
    return None if result.returncode == 0 else result.stdout[-2000:]
