package sandbox

import "encoding/binary"

// Where the image of a launcher is in memory, and how its data is laid out, which launch
// relies on: a head with the number of the status pipe and the address of the path to
// execute; then the steps, each with the number of the call, six arguments, the address
// for the result, the error that it may end in, its index, and room for an error. A step that has
// the number -1 is the end.
const (
	imageCode = 0x10000000
	imageData = 0x10010000
	headSize  = 8 * 8
	stepSize  = 11 * 8
	indexAt   = 9 * 8
	errorAt   = 10 * 8
)

// image returns the program as a file, in two parts: the code, and the data at its offset
// imageData-imageCode. It gets its files by numbers from first on.
func (l *launcher) image(path string, first, status int) (code, data []byte) {
	run := l.text(path)
	texts := uint64(imageData + headSize + (len(l.steps)+1)*stepSize)
	number := func(v value) uint64 {
		switch v.kind {
		case inData:
			return texts + v.n
		case ofFile:
			return uint64(first) + v.n
		case pastFiles:
			return uint64(status) + 2 // the image itself is the last
		}
		return v.n
	}
	words := make([]uint64, headSize/8, headSize/8+(len(l.steps)+1)*stepSize/8)
	words[0], words[1] = uint64(status), number(run)
	for i, s := range l.steps {
		words = append(words, uint64(s.call))
		for _, a := range s.args {
			words = append(words, number(a))
		}
		words = append(words, s.storeAt(), uint64(-int64(s.loose)), uint64(i), 0)
	}
	words = append(words, ^uint64(0), 0, 0, 0, 0, 0, 0, 0, 0, uint64(len(l.steps)), 0)

	for _, w := range words {
		data = binary.NativeEndian.AppendUint64(data, w)
	}
	for _, at := range l.pointers {
		binary.NativeEndian.PutUint64(l.data[at:], texts+binary.NativeEndian.Uint64(l.data[at:]))
	}
	for _, n := range l.numbers {
		binary.NativeEndian.PutUint32(l.data[n.at:], uint32(number(n.value)))
	}
	data = append(data, l.data...)
	text := launchCode()
	code = append(fileHeader(), segment(executable, 0, codeAt+len(text))...)
	code = append(code, segment(writable, imageData-imageCode, len(data))...)
	code = append(code, make([]byte, codeAt-len(code))...)
	return append(code, text...), data
}

func (s step) storeAt() uint64 {
	if s.store == 0 {
		return 0
	}
	return uint64(imageData + headSize + s.store*stepSize + 8)
}

// codeAt is where the instructions start in the file.
const codeAt = 0x100

// The sizes of the headers of ELF, and what it calls a segment's use.
const (
	fileHeaderSize = 64
	segmentSize    = 56
	executable     = 5 // read and execute
	writable       = 6 // read and write
)

// fileHeader returns the header of an executable with two segments.
func fileHeader() []byte {
	const bits64, lowFirst, version, program = 2, 1, 1, 2
	b := []byte{0x7f, 'E', 'L', 'F', bits64, lowFirst, version, 15: 0}
	b = binary.LittleEndian.AppendUint16(b, program)
	b = binary.LittleEndian.AppendUint16(b, launchMachine)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = binary.LittleEndian.AppendUint64(b, imageCode+codeAt) // the entry
	b = binary.LittleEndian.AppendUint64(b, fileHeaderSize)   // the segments follow
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, v := range []uint16{fileHeaderSize, segmentSize, 2, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

// segment returns the header of a part of the file that is in memory at imageCode and
// its offset.
func segment(use uint32, offset, size int) []byte {
	const load = 1
	b := binary.LittleEndian.AppendUint32(nil, load)
	b = binary.LittleEndian.AppendUint32(b, use)
	for _, v := range []int{offset, imageCode + offset, imageCode + offset, size, size, imageData - imageCode} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}
