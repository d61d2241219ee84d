package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"

	"github.com/actorswarm/swarm/event"
)

// jsonView prints nothing but one result object.
type jsonView struct {
	out   io.Writer
	tally *tally
}

func (j *jsonView) See(e event.Event)      { j.tally.See(e) }
func (j *jsonView) Finish(v verdict) error { return writeJSON(j.out, j.tally.result(v)) }

// writeJSON writes v on a line of its own, < and > as they are.
func writeJSON(out io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode a line of output: %w", err)
	}
	_, err := out.Write(b.Bytes())
	return err
}

// newUUID returns a random UUID of version 4.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
