//go:build linux && (amd64 || arm64)

package sandbox

import "unsafe"

// launch is the program of the launcher. It is never called, only copied.
//
//lint:ignore U1000 launchAddress refers to it.
func launch()

// launchAddress returns where its instructions start.
func launchAddress() *byte

// launchCode returns the instructions of launch. They refer to nothing outside of
// themselves but the list of steps, which is at an address of its own.
func launchCode() []byte {
	const end = "warm" // the word after the last instruction
	start := unsafe.Pointer(launchAddress())
	n := 0
	for string((*[len(end)]byte)(unsafe.Add(start, n))[:]) != end {
		n++
	}
	return unsafe.Slice((*byte)(start), n)
}
