package rulefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/actorswarm/swarm/internal/syntaxerr"
)

// maxDepth is how deep the values of a file may be nested.
const maxDepth = 200

// node is a value of a JSON text, with its place there.
type node struct {
	kind       byte // '{', '[', '"', or 0 for other values
	key        string
	from       int // start, or that of the key
	start, end int
	text       string
	items      []*node
}

// member returns the first member with a key, or nil.
func (n *node) member(key string) *node {
	for _, i := range n.items {
		if i.key == key {
			return i
		}
	}
	return nil
}

// parse parses a settings file, which must be an object.
func parse(src []byte) (*node, error) {
	if !utf8.Valid(src) {
		return nil, errors.New("it is not UTF-8; save it as UTF-8")
	}
	skipped := len(src) - len(bytes.TrimPrefix(src, byteOrderMark))
	r := &reader{src: src, skipped: skipped, dec: json.NewDecoder(bytes.NewReader(src[skipped:]))}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err == nil && n.kind != '{' {
		err = errors.New("it is not an object")
	}
	if err == nil {
		if _, more := r.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more text follows the object")
		}
	}
	if err != nil {
		if bad := syntaxerr.InJSON(src[skipped:]); bad != nil {
			return nil, fmt.Errorf("correct it first: %w", bad)
		}
		line := 1 + bytes.Count(src[:min(r.offset(), len(src))], []byte("\n"))
		return nil, fmt.Errorf("correct its line %d first: %w", line, err)
	}
	return n, nil
}

type reader struct {
	src     []byte
	skipped int // bytes before the text
	dec     *json.Decoder
}

// offset returns where the last token ended.
func (r *reader) offset() int { return r.skipped + int(r.dec.InputOffset()) }

// begin returns where the next token begins.
func (r *reader) begin() int {
	at := r.offset()
	for at < len(r.src) && bytes.IndexByte([]byte(" \t\r\n,:"), r.src[at]) >= 0 {
		at++
	}
	return at
}

func (r *reader) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errors.New("the values are nested too deep")
	}
	n := &node{start: r.begin()}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n.kind = byte(v)
		if err := r.content(n, depth); err != nil {
			return nil, err
		}
	case string:
		n.kind, n.text = '"', v
	}
	n.end = r.offset()
	return n, nil
}

// content reads what is in an object or a list, and its end.
func (r *reader) content(n *node, depth int) error {
	for r.dec.More() {
		from, name := r.begin(), ""
		if n.kind == '{' {
			token, err := r.dec.Token()
			if err != nil {
				return err
			}
			name, _ = token.(string)
		}
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		item.key, item.from = name, from
		n.items = append(n.items, item)
	}
	_, err := r.dec.Token()
	return err
}
