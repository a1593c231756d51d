#!/usr/bin/env python3
"""Checks a compilation database that ptrace-export has written of a build.

Usage: compiled.py DATABASE DIRECTORY [CMAKE]

Each object file that is in DIRECTORY, and newer than the file stamp in it, must be the output of an entry of
DATABASE, or of one that names no output but compiles a source of that name. With CMAKE, the database that CMake
has written of the same build, both must have the same entries. It prints what differs, then three files of the
database, the first one, the last one and one between.
"""
import json
import os
import re
import shlex
import sys

sys.dont_write_bytecode = True


def joined(entry, name):
    return os.path.normpath(os.path.join(entry["directory"], name))


def objects(entry):
    args = entry["arguments"]
    if "output" in entry:
        return {joined(entry, entry["output"])}
    if "-c" not in args:
        return set()
    return {joined(entry, os.path.splitext(os.path.basename(entry["file"]))[0] + ".o")}


def built(directory):
    stamp = os.stat(os.path.join(directory, "stamp")).st_mtime
    for top, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(top, name)
            if name.endswith(".o") and os.stat(path).st_mtime > stamp:
                yield path


def plain(entry):
    """Returns directory, file and arguments, without those by which the generators follow headers."""
    args = entry.get("arguments") or shlex.split(entry["command"])
    text = re.sub(r"\t-MD\t-MT\t[^\t]*\t-MF\t[^\t]*", "", "\t".join(args))
    return entry["directory"], entry["file"], text


def main():
    ours = json.load(open(sys.argv[1]))
    have = set().union(*map(objects, ours))
    want = set(built(sys.argv[2]))
    differences = [f"no entry has the object {path}" for path in sorted(want - have)]
    if len(sys.argv) > 3:
        theirs = {plain(e) for e in json.load(open(sys.argv[3]))}
        mine = {plain(e) for e in ours}
        differences += [f"only CMake has {e}" for e in sorted(theirs - mine)] + [f"CMake lacks {e}" for e in sorted(mine - theirs)]
    for line in differences[:20]:
        print(f"compile-commands: {line}")
    print(f"{len(want)} objects, {len(ours)} entries of the database: {len(differences)} differences")
    files = [joined(e, e["file"]) for e in ours]
    for path in [files[0], files[len(files) // 2], files[-1]] if files else []:
        print(f"file {path}")
    sys.exit(bool(differences) or not want)


if __name__ == "__main__":
    main()
