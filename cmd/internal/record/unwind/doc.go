// Package unwind finds the callers of a thread that is stopped: its stack of calls.
//
// For each frame it uses the best that there is for the code at hand:
//
//   - call frame information (CFI), as in .eh_frame, which compilers of C, C++ and Rust add to
//     programs and libraries for exceptions, and to the kernel's vdso
//   - the table of Go programs, by which their runtime unwinds
//   - a frame pointer, which is a guess: code without a frame pointer may have anything in that
//     register. Such a frame says so.
//
// It reads all of it from the memory of the process, and not from files: so a library that was
// replaced or removed, one in another mount namespace and the vdso are all alike. Only where the
// program's file lists sections that no header in memory names, their places come from that file.
//
// Everything that it reads is untrusted. The process, or a file's author, chose each size and each
// address. The number of frames, of steps for each of them, and of pages that are read is bounded;
// memory is only read through a function that cannot fault.
//
// A library for CFI exists in debuggers. Those parse all of a section at once, trust it, and come
// with the debugger; here one entry is decoded when a stack has an address in it.
package unwind
