"""Prints what a command did with files, from what strace -f -ff -y -o PREFIX has written, with -ttt or without.

Usage: strace_files.py PREFIX DIRECTORY

A line is KIND MODES PATH[ -> NEW][ = CANONICAL], or missing NUMBER PATH, each once, sorted. It shares nothing with
the tracer that it checks: cmd/internal/record/tracer.
"""
import collections
import glob
import os
import re
import sys

CALL = re.compile(r"(?:(\d+\.\d+) )?(\w+)\((.*)\)\s+= (.*)", re.S)
STRING = re.compile(r'^"((?:[^"\\]|\\.)*)"(\.\.\.)?$', re.S)
LINK = re.compile(r"^(-?\w+)<(.*)>$", re.S)


def split(text):
    """Returns the arguments of a call."""
    args, depth, quoted, start, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if quoted:
            if c == "\\":
                i += 1
            elif c == '"':
                quoted = False
        elif c == '"':
            quoted = True
        elif c in "([{<":
            depth += 1
        elif c in ")]}>" and text[i - 1] not in "-=":
            depth -= 1
        elif c == "," and depth == 0:
            args.append(text[start:i].strip())
            start = i + 1
        i += 1
    return args + [text[start:].strip()]


def string(arg):
    m = STRING.match(arg)
    return m and m[1].encode().decode("unicode_escape").encode("latin1").decode(errors="surrogateescape")


def joined(directory, name):
    names = [n for n in (name if name.startswith("/") else directory + "/" + name).split("/") if n not in ("", ".")]
    return "/" + "/".join(names)


class Files:
    def __init__(self, prefix):
        self.prefix, self.lines, self.missing = prefix, set(), collections.Counter()
        self.done = []  # what succeeded: time, process, kind, modes, path, new name

    def process(self, pid, cwd, leader=None):
        self.leader = leader = leader or pid
        try:
            text = open(f"{self.prefix}.{pid}", errors="surrogateescape")
        except FileNotFoundError:
            return
        for line in text:
            m = CALL.match(line.rstrip("\n"))
            if not m:
                continue
            name, args, result = m[2], split(m[3]), m[4]
            self.time = float(m[1] or 0)
            if name in ("fork", "vfork", "clone", "clone3") and result.isdigit():
                self.process(int(result), cwd, leader if "CLONE_THREAD" in m[3] else None)
                self.leader = leader
            elif name == "chdir" and result == "0":
                cwd = joined(cwd, string(args[0]))
            elif name == "fchdir" and result == "0":
                cwd = LINK.match(args[0])[2]
            else:
                self.call(name, args, result, cwd)

    def at(self, args, cwd):
        """Takes the path that is first of the arguments, behind a directory if there is one."""
        directory = cwd
        if not args[0].startswith('"'):
            directory = LINK.match(args[0])
            directory = directory and directory[2] or cwd
            args = args[1:]
        return joined(directory, string(args[0])), args[1:]

    def call(self, name, args, result, cwd):
        kind = {"openat": "open", "openat2": "open", "creat": "open", "execve": "exec", "execveat": "exec", "mkdirat": "mkdir", "renameat": "rename",
                "renameat2": "rename", "linkat": "link", "symlinkat": "symlink", "fchmodat": "chmod", "fchownat": "chown", "unlinkat": "unlink",
                "lchown": "chown", "fchmod": "chmod", "fchown": "chown", "ftruncate": "truncate"}.get(name, name)
        error = result.split()[1] if result.startswith("-1 ") else ""
        if name in ("fchmod", "fchown", "ftruncate", "mmap"):
            fd = LINK.match(args[4 if name == "mmap" else 0])
            if error or not fd or not fd[2].startswith("/"):
                return
            if name == "mmap":
                if "PROT_WRITE" not in args[2] or "MAP_SHARED" not in args[3] or "MAP_ANONYMOUS" in args[3]:
                    return
                kind = "map"
            self.lines.add(f"{kind} {fd[2]}")
            self.did(kind, [], fd[2])
            return
        if kind == "symlink":
            to, _ = self.at(args[1:], cwd)
            error or self.did(kind, [], to)
            self.lines.add(f"symlink {error and error + ' '}{string(args[0])} -> {to}")
            return
        if args[0] == '""' or not args[0].startswith('"') and args[1:2] == ['""']:
            return  # names nothing
        if kind not in ("open", "exec", "mkdir", "rmdir", "unlink", "rename", "link", "chmod", "chown", "truncate"):
            return
        path, rest = self.at(args, cwd)
        if kind in ("rename", "link"):
            to, rest = self.at(rest, cwd)
            self.lines.add(f"{kind} {error and error + ' '}{path} -> {to}")
            error or self.did(kind, [], path, to)
            return
        if error in ("ENOENT", "ENOTDIR"):
            self.missing[path] += 1
            return
        if name == "unlinkat" and "AT_REMOVEDIR" in rest[0]:
            kind = "rmdir"
        modes, made = [], []
        if kind == "open":
            flags = "O_WRONLY|O_CREAT|O_TRUNC" if name == "creat" else rest[0]
            if "O_PATH" in flags:
                modes = ["path"]
            else:
                modes = [m for m, f in (("read", "O_RDONLY"), ("read,write", "O_RDWR"), ("write", "O_WRONLY")) if f in flags]
                modes += [m for m, f in (("append", "O_APPEND"), ("cut", "O_TRUNC")) if f in flags]
                made = ["create"] if "O_CREAT" in flags and "O_EXCL" in flags else []
        line = " ".join(filter(None, [kind, ",".join(modes), error, path]))
        link = LINK.match(result)
        if kind == "open" and link and link[2] != path:
            line += " = " + link[2]
        self.lines.add(line)
        error or self.did(kind, modes + made, link[2] if kind == "open" and link else path)

    def did(self, kind, modes, path, to=""):
        self.done.append((self.time, self.leader, kind, ",".join(modes).split(",") if modes else [], path, to))


def main():
    sys.stdout.reconfigure(errors="surrogateescape")
    files = read(*sys.argv[1:])
    lines = files.lines | {f"missing {n} {path}" for path, n in files.missing.items()}
    print("\n".join(sorted(lines)))


def read(prefix, directory):
    """Returns the Files of a command that ran in a directory."""
    files = Files(prefix)
    pids = [int(name.rsplit(".", 1)[1]) for name in glob.glob(glob.escape(prefix) + ".*")]
    sys.setrecursionlimit(10000)
    files.process(first(prefix, pids), directory)
    return files


def first(prefix, pids):
    """Returns the process that no other has created."""
    created = set()
    for pid in pids:
        for line in open(f"{prefix}.{pid}", errors="surrogateescape"):
            m = CALL.match(line.rstrip("\n"))
            if m and m[2] in ("fork", "vfork", "clone", "clone3") and m[4].isdigit():
                created.add(int(m[4]))
    (pid,) = set(pids) - created
    return pid


if __name__ == "__main__":
    main()
