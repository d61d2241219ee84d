package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/model"
)

// textView shows progress on standard error and the answer on standard output.
type textView struct {
	*progress
	answer io.Writer
}

// newView returns the view that the flags ask for. A view that follows the run
// on standard output calls unread when nobody reads it any more.
func (a *app) newView(s *swarm.Session, show showFlags, unread func()) view {
	switch show.format {
	case "json":
		return &jsonView{out: a.Out, tally: newTally()}
	case "stream-json":
		return a.newStreamView(s, show.forward, unread)
	}
	return &textView{progress: newProgress(a.ErrScreen(), s.Info().Dir, show.verbose), answer: a.Out}
}

// sum tells what the session has used so far.
func (t *textView) sum(v verdict) {
	var all model.Usage
	for _, u := range v.Tree {
		all = all.Add(u.Usage)
	}
	if all == (model.Usage{}) {
		return
	}
	fmt.Fprintf(t.Out, "in all    %s · %s tokens %v · %s\n", plural(v.Agents, "agent"), tokens(all), v.Cost, span(v.Took))
}

// Finish prints the answer.
func (t *textView) Finish(v verdict) error {
	t.sum(v)
	text := strings.TrimRight(v.Text, "\n")
	if text == "" {
		return nil
	}
	return cli.Fprint(t.answer, asRead(t.answer, text)+"\n")
}

// asRead is what an agent said, for out: a terminal gets it cleaned of what could
// act on it, a file as it is.
func asRead(out io.Writer, text string) string {
	if _, terminal := cli.Columns(out); terminal {
		return term.CleanLines(text)
	}
	return text
}
