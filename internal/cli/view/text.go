package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/model"
)

// Text shows progress on standard error and the answer on standard output.
type Text struct {
	*progress
	answer io.Writer
}

// writeUsage writes what the session has used so far.
func (t *Text) writeUsage(v RunResult) {
	var all model.Usage
	for _, u := range v.Tree {
		all = all.Add(u.Usage)
	}
	if all == (model.Usage{}) {
		return
	}
	cost := " " + v.Cost.String()
	if v.Cost.Unknown {
		cost = ", price unknown"
	}
	fmt.Fprintf(t.Out, "in all    %s · %s tokens%s · %s\n", Plural(v.Agents, "agent"), tokens(all), cost, duration(v.Took))
}

// Finish prints the answer.
func (t *Text) Finish(v RunResult) error {
	t.writeUsage(v)
	text := strings.TrimRight(v.Text, "\n")
	if text == "" {
		return nil
	}
	return cli.Fprint(t.answer, Printable(t.answer, text)+"\n")
}

// Printable returns an agent's text for out. What is piped reaches a terminal in the end, as
// by a pager; it has no control sequences either, but keeps its tabs.
func Printable(out io.Writer, text string) string {
	if _, terminal := term.Columns(out); terminal {
		return term.CleanLines(text)
	}
	return term.CleanText(text)
}

// NewText returns a view that shows progress on a screen and writes the answer to out.
func NewText(s cli.Screen, dir string, verbose bool, out io.Writer) *Text {
	return &Text{progress: NewProgress(s, dir, verbose), answer: out}
}
