package mailbox

import (
	"strings"
	"testing"
	"time"
)

func BenchmarkEnvelopeCodec(b *testing.B) {
	e := golden()
	e.Sent = time.Now()
	e.Body = strings.Repeat("a line of text\n", 18)[:256]
	wire, compact := e.AppendJSON(nil), e.AppendBinary(nil)
	dst := make([]byte, 0, 2*len(wire))
	b.Run("AppendJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dst = e.AppendJSON(dst[:0])
		}
	})
	b.Run("DecodeEnvelope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeEnvelope(wire); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("AppendBinary", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dst = e.AppendBinary(dst[:0])
		}
	})
	b.Run("DecodeBinary", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeBinary(compact); err != nil {
				b.Fatal(err)
			}
		}
	})
}
