package main

import (
	"bytes"
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
