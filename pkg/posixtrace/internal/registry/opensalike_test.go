package registry

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// pair is a directory with a process in Go and one in C.
func pair(t *testing.T) (w *world, same func(format string, args ...any) string) {
	w = newWorld(t)
	for _, prog := range stepPrograms(t) {
		w.first(prog)
	}
	return w, func(format string, args ...any) string {
		t.Helper()
		x, y := w.step(0, format, args...), w.step(1, format, args...)
		if x != y {
			t.Errorf("%s: Go answers %q, C %q", fmt.Sprintf(format, args...), x, y)
		}
		return x
	}
}

// TestCOpensLikeGo opens files that cannot be ours in Go and in C.
func TestCOpensLikeGo(t *testing.T) {
	w, same := pair(t)
	name := streamName(77)
	path := filepath.Join(w.d.path, name)
	other := filepath.Join(t.TempDir(), "other")
	file := func(mode os.FileMode) func() error {
		return func() error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Chmod(path, mode)
		}
	}
	for what, prepare := range map[string]func() error{
		"missing":      func() error { return nil },
		"ours":         file(0o600),
		"readable":     file(0o644),
		"group writes": file(0o620),
		"others write": file(0o602),
		"directory":    func() error { return os.Mkdir(path, 0o700) },
		"FIFO":         func() error { return syscall.Mkfifo(path, 0o600) },
		"socket":       func() error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) },
		"symbolic link": func() error {
			return os.Symlink(w.sock, path)
		},
		"dangling link": func() error { return os.Symlink("nowhere", path) },
		"two names": func() error {
			if err := os.WriteFile(other, nil, 0o600); err != nil {
				return err
			}
			return os.Link(other, path)
		},
	} {
		t.Run(what, func(t *testing.T) {
			tracetest.OK(t, "prepare", prepare())
			same("open %s read", name)
			same("open %s write", name)
			same("stream %s", path)
			same("open %s create", name)
			os.Remove(path)
		})
	}
}

// TestCReadsNamesLikeGo reads files of names in Go and in C that are whole, damaged, cut or full.
func TestCReadsNamesLikeGo(t *testing.T) {
	w, same := pair(t)
	rng := rand.New(rand.NewPCG(1, 1))
	sound := 0
	n := tracetest.Scale(200, 2000, 20000)
	for i := range n {
		var b []byte
		next, lastID := [2]event.ID{event.FirstUser, event.FirstDynamic}, event.ID(0)
		for range rng.IntN(60) {
			system := rng.IntN(4) == 0
			name := fmt.Sprintf("%0*d", rng.IntN(40), rng.IntN(300))
			lastID = next[class(system)]
			b = appendRecord(b, next[class(system)], system, name)
			if next[class(system)]++; rng.IntN(200) == 0 {
				next[class(system)]++
			}
		}
		switch {
		case len(b) == 0 || rng.IntN(3) == 0:
		case rng.IntN(3) == 0: // the last record, with the right checksum
			at := bytes.LastIndex(b, binary.LittleEndian.AppendUint32(nil, uint32(lastID)))
			b[at+rng.IntN(min(8*(1+rng.IntN(9)), len(b)-at))] ^= 1 << rng.IntN(8)
			binary.LittleEndian.PutUint32(b[at-4:], crc32.Checksum(b[at:], castagnoli()))
		case rng.IntN(2) == 0:
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		default:
			b = b[:rng.IntN(len(b))]
		}
		family := uint64(i + 1)
		w.write(namesName(family), b)
		var end int
		fmt.Sscanf(same("known %x", family), "known %d %d %d", new(int), new(int), &end)
		if end == len(b) {
			sound++
		}
		os.Remove(filepath.Join(w.d.path, namesName(family)))
	}
	if sound < n/20 || sound > n*19/20 {
		t.Errorf("%d of %d files are sound", sound, n)
	}
}

// TestCChecksPagesLikeGo checks damaged pages in Go and in C.
func TestCChecksPagesLikeGo(t *testing.T) {
	w, same := pair(t)
	rng := rand.New(rand.NewPCG(1, 1))
	verdicts := map[string]int{}
	for i := range tracetest.Scale(300, 3000, 30000) {
		p := sys.Proc{PID: nowhere, Start: uint64(i + 1)}
		b := make([]byte, pageSize)
		putHeader(b, p, 1)
		switch rng.IntN(5) {
		case 0:
			b[rng.IntN(offFamily)] ^= 1 << rng.IntN(8)
		case 1:
			clear(b[offBoot:offNamespace])
		case 2:
			b[offNamespace+rng.IntN(8)] ^= 1 << rng.IntN(8)
		case 3:
			b = append(b, 0)[:pageSize-1+rng.IntN(3)]
		}
		w.write(pageName(p), b)
		verdicts[same("verdict %d %d", p.PID, p.Start)]++
		os.Remove(filepath.Join(w.d.path, pageName(p)))
	}
	if len(verdicts) < 3 {
		t.Errorf("the verdicts are %v", verdicts)
	}
}

// TestCMatchesLikeGo matches names with patterns in Go and in C.
func TestCMatchesLikeGo(t *testing.T) {
	_, same := pair(t)
	rng := rand.New(rand.NewPCG(1, 1))
	text := func(of string) string {
		b := make([]byte, rng.IntN(8))
		for i := range b {
			b[i] = of[rng.IntN(len(of))]
		}
		return "." + string(b)
	}
	matches := 0
	n := tracetest.Scale(2000, 20000, 200000)
	for range n {
		if same("match %s %s", text("ab*?"), text("ab")) == "match 1" {
			matches++
		}
	}
	if matches < n/20 || matches > n*19/20 {
		t.Errorf("%d of %d match", matches, n)
	}
}
