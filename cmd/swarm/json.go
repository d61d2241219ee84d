package main

import (
	"io"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
)

// jsonView prints nothing but one result object.
type jsonView struct {
	out   io.Writer
	tally *tally
}

func (j *jsonView) See(e event.Event)      { j.tally.See(e) }
func (j *jsonView) Finish(v verdict) error { return cli.WriteJSON(j.out, j.tally.result(v)) }
