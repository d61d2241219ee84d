package stream

import (
	"io"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
)

// ResultWriter prints one result object at the end of the run.
type ResultWriter struct {
	out   io.Writer
	tally *tally
}

func (j *ResultWriter) Handle(e event.Event)          { j.tally.add(e) }
func (j *ResultWriter) Finish(v view.RunResult) error { return cli.WriteJSON(j.out, j.tally.result(v)) }

// NewResultWriter returns a view that writes to out.
func NewResultWriter(out io.Writer) *ResultWriter { return &ResultWriter{out: out, tally: newTally()} }
