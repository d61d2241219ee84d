package mailbox

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

const wireVersion = 1

// AppendJSON appends the wire form, version 1 of docs/envelope.md. It does not validate
// e: call Validate first if e comes from elsewhere. It replaces invalid UTF-8 by U+FFFD,
// so that the output is always JSON.
func (e Envelope) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"v":1,"id":`...)
	dst = appendString(dst, string(e.ID))
	dst = append(e.From.append(append(dst, `,"from":"`...)), `","to":"`...)
	dst = append(e.To.append(dst), '"')
	dst = appendOptional(dst, `,"from_name":`, e.FromName)
	dst = appendOptional(dst, `,"to_name":`, e.ToName)
	dst = strconv.AppendUint(append(dst, `,"seq":`...), e.Seq, 10)
	if e.Skips > 0 {
		dst = strconv.AppendUint(append(dst, `,"skips":`...), e.Skips, 10)
	}
	dst = appendString(append(dst, `,"kind":`...), string(e.Kind))
	dst = appendOptional(dst, `,"class":`, string(e.Class))
	dst = append(dst, `,"sent":"`...)
	dst = e.Sent.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, '"')
	dst = appendOptional(dst, `,"in_reply_to":`, string(e.InReplyTo))
	dst = appendOptional(dst, `,"key":`, e.Key)
	dst = appendOptional(dst, `,"summary":`, e.Summary)
	dst = appendString(append(dst, `,"body":`...), e.Body)
	dst = appendOptional(dst, `,"ref":`, string(e.Ref))
	return append(dst, '}')
}

func appendOptional(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(append(dst, key...), s)
}

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = appendEscape(append(dst, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(append(dst, s[start:i]...), "\uFFFD"...)
			start = i + 1
		}
		i += n
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// DecodeEnvelope decodes the wire form. It refuses what two readers could understand
// differently: another version, an unknown kind or key (keys are case-sensitive), a
// repeated key, invalid UTF-8, an envelope over MaxWire or one that Validate refuses.
// It does not retain data.
func DecodeEnvelope(data []byte) (Envelope, error) {
	if len(data) > MaxWire {
		return Envelope{}, &TooLargeError{What: "wire form", Size: len(data), Limit: MaxWire}
	}
	if !utf8.Valid(data) {
		return Envelope{}, errors.New("mailbox: envelope is not valid UTF-8")
	}
	d := envelopeDecoder{p: parser{s: string(data)}}
	if err := d.p.document(&d); err != nil {
		return Envelope{}, fmt.Errorf("mailbox: decode envelope: %w", err)
	}
	if err := d.p.required("v", "id", "from", "to", "seq", "kind", "sent", "body"); err != nil {
		return Envelope{}, fmt.Errorf("mailbox: decode envelope: %w", err)
	}
	return d.e, d.e.Validate()
}

type envelopeDecoder struct {
	p parser
	e Envelope
}

func (d *envelopeDecoder) member(key string) (err error) {
	p, e := &d.p, &d.e
	switch key {
	case "v":
		return p.version(wireVersion)
	case "id":
		return readText(p, &e.ID)
	case "from":
		return p.address(&e.From)
	case "to":
		return p.address(&e.To)
	case "from_name":
		return readText(p, &e.FromName)
	case "to_name":
		return readText(p, &e.ToName)
	case "seq":
		e.Seq, err = p.number()
	case "skips":
		e.Skips, err = p.number()
	case "kind":
		return readText(p, &e.Kind)
	case "class":
		return readText(p, &e.Class)
	case "key":
		return readText(p, &e.Key)
	case "sent":
		return p.time(&e.Sent)
	case "in_reply_to":
		return readText(p, &e.InReplyTo)
	case "summary":
		return readText(p, &e.Summary)
	case "body":
		return readText(p, &e.Body)
	case "ref":
		return readText(p, &e.Ref)
	default:
		return p.unknown(key)
	}
	return err
}
