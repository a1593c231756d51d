#!/usr/bin/env python3
"""Compares what strace(1) has seen of the files of a build with what -e files has recorded of another run of it.

Usage: files.py PREFIX DIRECTORY EVENTS TABLE [REGEXP...]

strace -f -ff -y -ttt -o PREFIX has run the build in DIRECTORY; EVENTS is of ptrace-dump -j -e files, TABLE of
ptrace-dump --files -j. What a group of a REGEXP matches in a path is at random;
what a REGEXP without a group matches happens in some runs only. First the uses of files are
compared, each once, then the table, path by path: how many processes wrote and read the file, and what became of it.
It prints what differs; the status is 1 if anything does.
"""
import collections
import errno
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../cmd/internal/script/testdata"))
import strace_files  # noqa: E402

SHOWN = 20
TEMPORARY = [r"/cc(\w{6})\b", r"/sed(\w{6})\b", r"/st(\w{6})\b"]  # of compilers, sed and ar


def recorded(path):
    """Returns the uses of files in events, as strace_files has them, and the interpreters, which strace does not see."""
    lines, missing, interpreters = set(), collections.Counter(), set()
    for line in open(path):
        e = json.loads(line)
        kind, name = e["kind"], e["file"]
        modes = [m for m in e["modes"] if m not in ("create", "directory", "unnamed", "special")]
        if "interpreter" in modes:
            interpreters.add(e["canonical"] or name)
        elif kind == "missing":
            missing[name] += e["count"]
        elif kind != "close":
            if kind in ("truncate", "map"):
                modes = []
            error = errno.errorcode[e["error"]] if e["error"] else ""
            line = " ".join(w for w in (kind, ",".join(modes), error, name) if w)
            line += f' -> {e["to"]}' if e["to"] else ""
            line += f' = {e["canonical"]}' if kind == "open" and e["canonical"] else ""
            lines.add(line)
    return lines | {f"missing {n} {name}" for name, n in missing.items()}, interpreters


class File:
    def __init__(self):
        self.writers, self.readers = set(), set()


class Table:
    """What strace has seen, as the table of --files has it."""

    def __init__(self):
        self.now = {}  # the file of each name
        self.rows = {}  # the last file of each name, and what became of it

    def file(self, path):
        if path not in self.now:
            self.bind(path, File())
        return self.now[path]

    def bind(self, path, file):
        self.now[path] = file
        self.rows[path] = (file, "there")

    def lose(self, path, state):
        file = self.file(path)
        del self.now[path]
        self.rows[path] = (file, state)
        return file

    def move(self, path, to):
        if path == to or self.now.get(to, self) is self.now.get(path):
            return
        if to in self.now:
            self.lose(to, "replaced")
        self.bind(to, self.lose(path, "renamed"))

    def add(self, pid, kind, modes, path, to):
        if kind == "open" and "path" in modes or kind in ("chmod", "chown"):
            self.file(path)
        elif kind in ("open", "exec", "truncate", "map"):
            written = kind in ("truncate", "map") or {"write", "append", "cut", "create"} & set(modes)
            (self.file(path).writers if written else self.file(path).readers).add(pid)
        elif kind in ("mkdir", "symlink"):
            self.now.pop(path, None)
            self.file(path).writers.add(pid)
        elif kind in ("unlink", "rmdir"):
            self.lose(path, "removed")
        elif kind == "link":
            self.bind(to, self.file(path))
        elif kind == "rename":
            for name in [n for n in self.now if n.startswith(path + "/")]:
                self.move(name, to + name[len(path):])
            self.move(path, to)


def canonical(kind, path):
    """Returns a path without symbolic links, as far as the directories still exist."""
    if kind in ("open", "map"):
        return path
    if kind in ("exec", "chmod", "truncate"):
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def seen(files):
    table = Table()
    for _, pid, kind, modes, path, to in sorted(files.done, key=lambda d: d[0]):
        if not path.startswith("/") or path.endswith(" (deleted)") or path.startswith("/memfd:"):
            continue
        table.add(pid, kind, modes, canonical(kind, path), to and canonical(kind, to))
    return {f"{path}: {len(f.writers)} wrote, {len(f.readers - f.writers)} read, {state}" for path, (f, state) in table.rows.items()}


def tabled(path):
    rows = set()
    for line in open(path):
        r = json.loads(line)
        if r["kind"] == "file" and r["state"] != "missing":
            rows.add(f'{r["path"]}: {len(r["writers"])} wrote, {len(r["readers"])} read, {r["state"]}')
        elif r["kind"] == "total" and (r["lost"] or r["left_out"]):
            rows.add(f"lost or left out: {line}")
    return rows


def normal(lines, patterns):
    def blank(m):
        a, b = m.span(1)
        a, b = a - m.start(), b - m.start()
        return m[0][:a] + "TEMP" + m[0][b:]

    out = collections.Counter()
    for line in lines:
        line = re.sub(r"(/proc/)(self|\d+)/(\S+)( = /proc/\d+/\3)?", r"\1PID/\3", line)
        if any(p.groups == 0 and p.search(line) for p in patterns):
            continue
        for p in patterns:
            line = p.sub(blank, line)
        out[line] += 1
    return out


def differ(what, strace, ours, patterns):
    strace, ours = normal(strace, patterns), normal(ours, patterns)
    lines = [f"only strace saw: {l}" for l in strace - ours] + [f"strace did not see: {l}" for l in ours - strace]
    for line in sorted(lines, key=lambda l: l.split(": ", 1)[1])[:SHOWN]:
        print(f"{what}: {line}")
    return len(lines)


def main():
    prefix, directory, events, table = sys.argv[1:5]
    sys.stdout.reconfigure(errors="backslashreplace")
    patterns = [re.compile(p) for p in TEMPORARY + sys.argv[5:]]
    files = strace_files.read(prefix, directory)
    lines = files.lines | {f"missing {n} {path}" for path, n in files.missing.items()}
    ours, interpreters = recorded(events)
    differences = differ("events", lines, ours, patterns)
    rows = seen(files)
    others = [[r for r in list if r.rsplit(": ", 1)[0] not in interpreters] for list in (rows, tabled(table))]
    differences += differ("table", *others, patterns)
    print(f"{len(lines)} uses of files, {len(others[0])} paths: {differences} differences")
    sys.exit(differences > 0)


if __name__ == "__main__":
    main()
