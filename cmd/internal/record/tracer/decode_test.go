package tracer

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// FuzzDecodeCall gives the decoder of system calls arbitrary registers, and pointers into
// memory of arbitrary content, with an unreadable page behind it. The memory is that of this
// process, which makes no difference to the decoder.
func FuzzDecodeCall(f *testing.F) {
	const page = 4096
	mem, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		err = unix.Mprotect(mem[2*page:], unix.PROT_NONE)
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { unix.Munmap(mem) })
	base := uint64(uintptr(unsafe.Pointer(&mem[0])))
	for nr := range names {
		if specs()[nr] == nil {
			continue
		}
		text := hostile.Texts()[nr%len(hostile.Texts())]
		f.Add(uint16(nr), uint8(0x3f), make([]byte, 48), []byte(text+"\x00"), int64(len(text)), int16(0))
		f.Add(uint16(nr), uint8(0x2a), []byte(text+"................................................"), []byte(text), int64(-1), int16(nr))
	}
	f.Fuzz(func(t *testing.T, nr uint16, pointers uint8, registers, content []byte, result int64, errno int16) {
		if len(registers) < 48 || len(content) > 2*page {
			return
		}
		clear(mem[:2*page])
		start := copy(mem[2*page-len(content):2*page], content)
		k := &task{tid: os.Getpid(), pid: os.Getpid()}
		k.call.nr = int(nr % 1024)
		for i := range k.call.raw {
			v := binary.LittleEndian.Uint64(registers[8*i:])
			if pointers&(1<<i) != 0 {
				v = base + uint64(2*page-start) + v%uint64(start+1)
			}
			k.call.raw[i] = v
		}
		// Pointers to pointers: argv.
		for i := 0; i+8 <= start && pointers&0x40 != 0; i += 16 {
			binary.NativeEndian.PutUint64(mem[2*page-start+i:], base+uint64(i))
		}
		tr := &tracer{cfg: Config{MaxData: int(registers[0]) << 4}}
		tr.decodeEntry(k)
		if errno >= 0 {
			d := &posixtrace.SyscallData{Result: result, Errno: int(errno), Returned: true}
			tr.decodeReturn(k, d)
		} else {
			tr.decodeReturn(k, nil)
		}
		d := posixtrace.SyscallData{Args: k.call.args}
		b := d.Append(nil)
		if len(b) > 64<<10 || len(k.call.args) > 7 {
			t.Fatalf("%d arguments in %d bytes", len(k.call.args), len(b))
		}
		if again, err := posixtrace.DecodeSyscall(b); err != nil || len(again.Args) != len(d.Args) {
			t.Fatalf("%d arguments decode to %d, %v", len(d.Args), len(again.Args), err)
		}
		if p, err := parseProgram(content); err == nil && len(appendProgram(nil, p)) != len(content) {
			t.Fatalf("a program of %d bytes decodes to %d instructions", len(content), len(p))
		}
	})
}

// Every system call that the kernel has shows as many arguments as it has: the registers behind them
// have values of earlier calls. Some numbers have a name and never had a call.
func TestEveryCallHasArguments(t *testing.T) {
	never := []string{"afs_syscall", "arch_specific_syscall", "getpmsg", "putpmsg", "security", "tuxcall", "vserver"}
	seen := map[string]bool{}
	for _, c := range slices.Concat(calls, plainCalls) {
		if seen[c.name] {
			t.Errorf("%s is there twice", c.name)
		}
		seen[c.name] = true
		if len(c.args) > 6 {
			t.Errorf("%s has %d arguments", c.name, len(c.args))
		}
	}
	for _, name := range names {
		if name != "" && !seen[name] && !slices.Contains(never, name) {
			t.Errorf("%s shows registers", name)
		}
	}
}
