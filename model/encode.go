package model

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Unlike encoding/json it does not escape <, > and
// &, since a changed byte invalidates the prompt cache. It replaces invalid UTF-8 by
// U+FFFD, which every JSON reader would see anyway.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			start = i
			continue
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// appendField appends ,"key":"value".
func appendField(dst []byte, key, value string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, key...)
	dst = append(dst, '"', ':')
	return appendString(dst, value)
}

// pairSurrogates replaces unpaired surrogate escapes such as \ud83d. Go reads them, but an
// API refuses the request and all that follow it. Other JSON is returned unchanged.
func pairSurrogates(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw
	}
	out := bytes.Clone(raw)
	for i := 0; i < len(out); {
		r, isEscape := unicodeEscape(out[i:])
		switch {
		case out[i] != '\\':
			i++
		case !isEscape:
			i += 2 // past the escaped character, which may be a backslash
		case !utf16.IsSurrogate(r):
			i += 6
		default:
			if low, ok := unicodeEscape(out[i+6:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
				i += 12
				continue
			}
			copy(out[i:], `\ufffd`)
			i += 6
		}
	}
	return out
}

// unicodeEscape reads \uXXXX at the start of b.
func unicodeEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
