// Package sse reads server-sent events.
//
//	events := sse.NewReader(res.Body)
//	for {
//		e, err := events.Next()
//		if err == io.EOF {
//			return nil
//		}
//		if err != nil {
//			return err
//		}
//		handle(e.Name, e.Data) // Data is valid until the next Next
//	}
//
// Laws:
//
//   - Lines end in \n, \r\n or \r. A byte order mark at the start, comment lines and
//     events without data are skipped (TestEventsAreSplitWhateverTheLineEnds).
//   - A line or the data of an event of more than MaxBytes is an error, so that a broken
//     server cannot fill the memory (TestAnEndlessEventIsRefused).
//   - An event in which the stream ends is returned: its reader knows whether it is
//     complete (TestEventsAreSplitWhateverTheLineEnds).
//
// A Reader belongs to one goroutine.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxBytes is the most a line, or the data of one event, may hold.
const MaxBytes = 4 << 20

const byteOrderMark = "\xEF\xBB\xBF"

// ErrTooLong reports an event of more than MaxBytes.
var ErrTooLong = fmt.Errorf("sse: an event holds more than %d bytes", MaxBytes)

// Event is one event. Data is valid until the next call of Next.
type Event struct {
	Name string
	Data []byte
}

// Reader splits a stream into events.
type Reader struct {
	src        io.Reader
	buf        []byte
	start, end int   // the unread part of buf
	err        error // of src, once it had one
	skipLF     bool  // the last line ended in \r
	begun      bool  // a byte order mark was looked for
	data       []byte
}

// NewReader returns a Reader of src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src, buf: make([]byte, 4096)} }

// Next returns the next event, or io.EOF, ErrTooLong or the error of the source.
func (r *Reader) Next() (Event, error) {
	var e Event
	r.data = r.data[:0]
	has := false
	for {
		line, err := r.line()
		if err != nil {
			if has && errors.Is(err, io.EOF) {
				e.Data = r.data
				return e, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if has {
				e.Data = r.data
				return e, nil
			}
			e = Event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.Name = string(value)
		case "data":
			if err := r.addData(value, has); err != nil {
				return Event{}, err
			}
			has = true
		}
	}
}

func (r *Reader) addData(value []byte, more bool) error {
	if more {
		r.data = append(r.data, '\n')
	}
	if len(r.data)+len(value) > MaxBytes {
		return ErrTooLong
	}
	r.data = append(r.data, value...)
	return nil
}

// line returns the next line without its end, valid until the next call.
func (r *Reader) line() ([]byte, error) {
	r.begin()
	for searched := 0; ; {
		searched -= r.skipNewline()
		unread := r.buf[r.start:r.end]
		if i := bytes.IndexAny(unread[max(searched, 0):], "\r\n"); i >= 0 {
			i += max(searched, 0)
			r.skipLF = unread[i] == '\r'
			r.start += i + 1
			return unread[:i], nil
		}
		searched = len(unread)
		if searched > MaxBytes {
			return nil, ErrTooLong
		}
		if r.err != nil {
			return r.rest()
		}
		r.fill()
	}
}

// begin passes over a byte order mark.
func (r *Reader) begin() {
	if r.begun {
		return
	}
	r.begun = true
	for r.end < len(byteOrderMark) && r.err == nil {
		r.fill()
	}
	if bytes.HasPrefix(r.buf[:r.end], []byte(byteOrderMark)) {
		r.start = len(byteOrderMark)
	}
}

// skipNewline passes over the \n of a \r\n whose \r has ended a line already,
// and returns how many bytes that were.
func (r *Reader) skipNewline() int {
	if !r.skipLF || r.start == r.end {
		return 0
	}
	r.skipLF = false
	if r.buf[r.start] != '\n' {
		return 0
	}
	r.start++
	return 1
}

// rest gives out what stands behind the last line end of a source that ended.
func (r *Reader) rest() ([]byte, error) {
	unread := r.buf[r.start:r.end]
	r.start = r.end
	if len(unread) > 0 && errors.Is(r.err, io.EOF) {
		return unread, nil
	}
	return nil, r.err
}

func (r *Reader) fill() {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end == len(r.buf) {
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	if err != nil {
		r.err = err
	}
}
