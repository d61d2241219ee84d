package mailbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Versions of the compact form. Both are read; only the newer one is written.
const (
	binaryVersion   = 1 // of receipts, and of envelopes before there were classes and keys
	envelopeVersion = 2
)

// AppendBinary appends the compact form, for journal records. Like AppendJSON it
// does not validate e.
func (e Envelope) AppendBinary(dst []byte) []byte {
	dst = append(dst, envelopeVersion, e.Kind.number(), e.Class.number())
	dst = binary.AppendUvarint(dst, e.Seq)
	dst = binary.AppendUvarint(dst, e.Skips)
	dst = binary.AppendVarint(dst, e.Sent.Unix())
	dst = binary.AppendUvarint(dst, uint64(e.Sent.Nanosecond()))
	dst = appendAddress(dst, e.From)
	dst = appendAddress(dst, e.To)
	dst = appendText(dst, string(e.ID))
	dst = appendText(dst, string(e.InReplyTo))
	dst = appendText(dst, e.Key)
	dst = appendText(dst, e.FromName)
	dst = appendText(dst, e.ToName)
	dst = appendText(dst, e.Summary)
	return appendText(appendText(dst, e.Body), string(e.Ref))
}

// DecodeBinary decodes what AppendBinary wrote, and refuses other versions and
// trailing bytes. It does not retain data.
func DecodeBinary(data []byte) (Envelope, error) {
	r := reader{s: string(data)}
	e := r.envelope()
	if err := r.end(); err != nil {
		return Envelope{}, fmt.Errorf("mailbox: decode envelope record: %w", err)
	}
	return e, nil
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendAddress(dst []byte, a Address) []byte {
	return binary.AppendUvarint(appendText(dst, string(a.Agent)), uint64(a.Incarnation))
}

var errDamaged = errors.New("damaged or cut short")

// reader decodes values from a string. After the first error it returns zero values
// and keeps the error, so that callers check once.
type reader struct {
	s   string
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.s = ""
}

func (r *reader) end() error {
	if r.err == nil && r.s != "" {
		return fmt.Errorf("%d bytes too many", len(r.s))
	}
	return r.err
}

func (r *reader) version(want byte) {
	if got := r.byte(); r.err == nil && got != want {
		r.fail(fmt.Errorf("version %d, this program reads version %d", got, want))
	}
}

func (r *reader) byte() byte {
	if r.s == "" {
		r.fail(errDamaged)
		return 0
	}
	b := r.s[0]
	r.s = r.s[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		if b < 0x80 {
			if shift == 63 && b > 1 {
				break
			}
			return v | uint64(b)<<shift
		}
		v |= uint64(b&0x7f) << shift
	}
	r.fail(errDamaged)
	return 0
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.s)) {
		r.fail(errDamaged)
		return ""
	}
	s := r.s[:n]
	r.s = r.s[n:]
	return s
}

// count reads the length of a list whose items are at least one byte each.
func (r *reader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.s)) {
		r.fail(errDamaged)
		return 0
	}
	return int(n)
}

func (r *reader) address() Address {
	agent, inc := AgentID(r.text()), r.uvarint()
	if inc > 1<<32-1 {
		r.fail(errDamaged)
	}
	return Address{Agent: agent, Incarnation: uint32(inc)}
}

func (r *reader) time() time.Time {
	sec, ns := r.varint(), r.uvarint()
	if ns >= 1e9 {
		r.fail(errDamaged)
		return time.Time{}
	}
	return time.Unix(sec, int64(ns)).UTC()
}

func (r *reader) envelope() (e Envelope) {
	version := r.byte()
	if r.err == nil && version != binaryVersion && version != envelopeVersion {
		r.fail(fmt.Errorf("version %d, this program reads versions %d and %d", version, binaryVersion, envelopeVersion))
	}
	if e.Kind = kindOf(r.byte()); e.Kind == "" {
		r.fail(errors.New("unknown kind of message"))
	}
	if version == envelopeVersion {
		e.Class = r.class()
	}
	e.Seq, e.Skips = r.uvarint(), r.uvarint()
	e.Sent = r.time()
	e.From, e.To = r.address(), r.address()
	e.ID, e.InReplyTo = ID(r.text()), ID(r.text())
	if version == envelopeVersion {
		e.Key = r.text()
	}
	e.FromName, e.ToName = r.text(), r.text()
	e.Summary, e.Body = r.text(), r.text()
	if version == envelopeVersion {
		e.Ref = Ref(r.text())
	}
	return e
}

func (r *reader) class() Class {
	n := r.byte()
	if int(n) >= len(classes) {
		r.fail(errors.New("unknown class of message"))
		return ""
	}
	return classes[n]
}
