package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/stream"
	"github.com/actorswarm/swarm/internal/cli/view"
)

// job is one run of a session.
type job struct {
	opts   swarm.Options
	prompt string // empty: go on with what was cut
	show   showFlags
}

// work runs a session from its start to its end.
func (a *app) work(ctx context.Context, j job) (swarm.Info, error) {
	ctl := cli.CatchSignals(ctx, a.exit)
	defer ctl.Release()
	s, err := swarm.Open(ctl.Session, j.opts)
	if err != nil {
		return swarm.Info{}, a.explainRunning(j.opts, err)
	}
	warnOfProblems(&a.Console, s)
	v := a.newView(s, j.show, ctl.EndUnread)
	watch := view.Follow(context.WithoutCancel(ctx), s.Events(), v.Handle)
	ctl.EndWhen(s.Quitting())
	result, runErr := a.startLead(ctl.Run, s, j.prompt)
	closeErr := s.Close()
	<-watch
	result.Session = s.ID()
	if _, begun := leadOf(s.Agents()); !begun && j.opts.Session == "" {
		closeErr = errors.Join(closeErr, os.RemoveAll(s.Info().Path)) // there is nothing to continue
	}
	return s.Info(), errors.Join(a.finish(v, ctl, view.RunResult{Result: result, Err: runErr}), closeErr)
}

// explainRunning explains, for a session that another process runs, how to use it.
func (a *app) explainRunning(o swarm.Options, err error) error {
	if o.Session == "" {
		return err
	}
	info, findErr := a.Sessions().Find(o.Dir, o.Session)
	if findErr != nil {
		return err
	}
	r, dialErr := a.Sessions().Dial(info)
	if dialErr != nil {
		return err
	}
	r.Close()
	return fmt.Errorf("session %s runs in another process; join it: swarm attach %s; write to it: swarm send --session %s lead TEXT; follow it: swarm tail %s", info.ID, info.ID, info.ID, info.ID)
}

const goOnPrompt = "Go on from where you were stopped."

// startLead gives the lead its prompt, or continues turns that were cut off. A lead
// whose last turn ended early gets a message to continue.
func (a *app) startLead(ctx context.Context, s *swarm.Session, prompt string) (swarm.Result, error) {
	if prompt != "" {
		return s.Run(ctx, prompt)
	}
	lead, ok := leadOf(s.Agents())
	switch {
	case !ok:
		return swarm.Result{}, fmt.Errorf("session %s has no work yet; give it some: swarm run --resume %s PROMPT", s.ID(), s.ID())
	case lead.Record.TurnOpen, lead.Unread > 0, lead.Record.Turns == 0, lead.Record.Outcome == "completed":
		return s.Resume(ctx)
	}
	a.Notef("the lead's last turn ended early (%s); it is told to go on", lead.Record.Outcome)
	return s.Run(ctx, goOnPrompt)
}

func leadOf(agents []actors.Status) (actors.Status, bool) {
	for _, s := range agents {
		if s.Record.Spec.ID == agent.LeadID {
			return s, true
		}
	}
	return actors.Status{}, false
}

// finish shows the end of the run and returns the exit status as an error.
func (a *app) finish(v view.View, ctl *cli.Signals, r view.RunResult) error {
	err := v.Finish(r)
	code := ctl.ExitCode()
	if err != nil && (code == 0 || code == cli.ExitFailed) {
		return fmt.Errorf("write the result: %w; everything is kept, go on with: swarm resume %s", err, r.Session)
	}
	if code != 0 { // no error is needed for a signal, which also ends a pipeline's readers
		a.Notef("%s; go on with: swarm resume %s", ctl.Reason(), r.Session)
		return &cli.ExitError{Code: code}
	}
	switch {
	case r.Err != nil:
		return r.Err
	case r.Outcome == "completed":
		return nil
	}
	higher := ""
	if r.Outcome == "over_budget" {
		higher = " and a higher --max-budget-usd, --max-tokens-total, --max-requests or --max-time"
	}
	return fmt.Errorf("the lead's turn ended early (%s): %s; go on with: swarm resume %s%s", r.Outcome, view.TrimPackage(r.Reason), r.Session, higher)
}

// newView returns the view for the flags. A view on standard output calls onWriteError
// when that was closed by its reader.
func (a *app) newView(s *swarm.Session, show showFlags, unread func()) view.View {
	switch show.format {
	case "json":
		return stream.NewResultWriter(a.Out)
	case "stream-json":
		return stream.New(a.Out, stream.Options{
			Session: s.ID(), Transcripts: filepath.Join(s.Info().Path, "transcripts"), Forward: show.forward,
			Setup: func() stream.Setup { return setupOf(s, a.Getenv) }, OnWriteError: unread,
		})
	}
	return view.NewText(a.ErrScreen(), s.Info().Dir, show.verbose, a.Out)
}

// setupOf returns the configuration that a session was started with.
func setupOf(s *swarm.Session, env func(string) string) stream.Setup {
	info := s.Info()
	out := stream.Setup{Dir: info.Dir, Model: info.Model, Mode: info.Mode, KeySource: "none"}
	for _, name := range keyNames {
		if env(name) != "" {
			out.KeySource = name
			break
		}
	}
	if lead, ok := leadOf(s.Agents()); ok {
		spec := lead.Record.Spec
		out.Model, out.Mode, out.Tools = spec.Model, spec.Mode, spec.Tools
	}
	for _, d := range s.Definitions().Active {
		out.Agents = append(out.Agents, d.Name)
	}
	return out
}

// keyNames are the variables that hold credentials of models.
var keyNames = [...]string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"}
