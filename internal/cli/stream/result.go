package stream

import (
	"io"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
)

// ResultWriter prints nothing but one result object.
type ResultWriter struct {
	out   io.Writer
	tally *tally
}

func (j *ResultWriter) See(e event.Event)           { j.tally.See(e) }
func (j *ResultWriter) Finish(v view.Verdict) error { return cli.WriteJSON(j.out, j.tally.result(v)) }

// NewResultWriter returns a view that writes to out.
func NewResultWriter(out io.Writer) *ResultWriter { return &ResultWriter{out: out, tally: newTally()} }
