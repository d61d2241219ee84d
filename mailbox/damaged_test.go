package mailbox

import (
	"math"
	"strings"
	"testing"
	"time"
)

// A record that is cut anywhere, has bytes too many or is impossible is
// refused as a whole.
func TestDamagedRecordIsRefused(t *testing.T) {
	e := golden()
	e.Class, e.Key = ClassMail, "k"
	envelope, receipt := e.AppendBinary(nil), bobs(StateRead, 3, "m1", "m2").AppendBinary(nil)
	decode := map[string]func([]byte) error{
		"envelope": func(b []byte) error { _, err := DecodeBinary(b); return err },
		"receipt":  func(b []byte) error { _, err := DecodeBinaryReceipt(b); return err },
	}
	for what, good := range map[string][]byte{"envelope": envelope, "receipt": receipt} {
		if err := decode[what](good); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for n := range good {
			if err := decode[what](good[:n]); err == nil || !strings.Contains(err.Error(), "decode "+what+" record") {
				t.Errorf("%d bytes of %d of the %s: %v", n, len(good), what, err)
			}
		}
		if err := decode[what](append(good[:len(good):len(good)], 0)); err == nil || !strings.Contains(err.Error(), "1 bytes too many") {
			t.Errorf("a byte behind the %s: %v", what, err)
		}
	}
	change := func(b []byte, at int, to byte) []byte {
		b = append([]byte(nil), b...)
		b[at] = to
		return b
	}
	for want, err := range map[string]error{
		"version 99, this program reads versions": decode["envelope"](change(envelope, 0, 99)),
		"unknown kind":                           decode["envelope"](change(envelope, 1, byte(len(kinds)))),
		"unknown class":                          decode["envelope"](change(envelope, 2, byte(len(classes)))),
		"version 99, this program reads version": decode["receipt"](change(receipt, 0, 99)),
		"unknown state":                          decode["receipt"](change(receipt, 2, 'x')),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := decode["envelope"](change(envelope, 1, 0)); err == nil {
		t.Error("a message without a kind is taken")
	}
}

func TestNumbersOfARecordHaveLimits(t *testing.T) {
	for in, want := range map[string]uint64{
		"\x00": 0, "\x7f": 127, "\x80\x01": 128, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": math.MaxUint64,
	} {
		if r := (reader{s: in}); r.uvarint() != want || r.end() != nil {
			t.Errorf("%x is not %d: %v", in, want, r.err)
		}
	}
	for _, in := range []string{"", "\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80\x01"} {
		if r := (reader{s: in}); r.uvarint() != 0 || r.err == nil {
			t.Errorf("%x is taken for a number", in)
		}
	}
	for in, ok := range map[string]bool{"\x01a\xff\xff\xff\xff\x0f": true, "\x01a\x80\x80\x80\x80\x10": false} {
		r := reader{s: in}
		if a := r.address(); (r.end() == nil) != ok || ok && a != (Address{Agent: "a", Incarnation: math.MaxUint32}) {
			t.Errorf("%x is the address %v, %v", in, a, r.err)
		}
	}
	for in, want := range map[string]time.Time{
		"\x02\xff\x93\xeb\xdc\x03": time.Unix(1, 999_999_999).UTC(), "\x01\x00": time.Unix(-1, 0).UTC(), "\x02\x80\x94\xeb\xdc\x03": {},
	} {
		r := reader{s: in}
		if got := r.time(); !got.Equal(want) || (r.end() == nil) != (want != time.Time{}) {
			t.Errorf("%x is %v, %v", in, got, r.err)
		}
	}
}

func TestDecodeReceiptIsStrict(t *testing.T) {
	good := string(bobs(StateRead, 3, "m1").AppendJSON(nil))
	if _, err := DecodeReceipt([]byte(good)); err != nil {
		t.Error(err)
	}
	for want, in := range map[string]string{
		"unknown key":           strings.Replace(good, `"v":1`, `"v":1,"hops":1`, 1),
		"version 2":             strings.Replace(good, `"v":1`, `"v":2`, 1),
		`"through" is missing`:  strings.Replace(good, `,"through":3`, ``, 1),
		"not valid UTF-8":       strings.Replace(good, "m1", "m\xff", 1),
		"not a message id":      strings.Replace(good, "m1", "M 1", 1),
		"unknown state":         strings.Replace(good, `"read"`, `"lost"`, 1),
		"receipt":               good + strings.Repeat(" ", MaxWire),
		"something follows":     good + "1",
		"natural number":        strings.Replace(good, `:3`, `:x`, 1),
		"natural number below ": strings.Replace(good, `:3`, `:18446744073709551616`, 1),
	} {
		if _, err := DecodeReceipt([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
