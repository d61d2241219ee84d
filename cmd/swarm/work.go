package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
)

// job is one run of a session.
type job struct {
	opts   swarm.Options
	prompt string // empty: go on with what was cut
	show   showFlags
}

// view shows a run. See is called for one event after another, Finish once
// when no more will come.
type view interface {
	See(event.Event)
	Finish(verdict) error
}

// verdict is what a run came to. Err is of the run itself, not of the lead.
type verdict struct {
	swarm.Result
	Err error
}

// work runs a session from its opening to its end.
func (a *app) work(ctx context.Context, j job) (swarm.Info, error) {
	ctl := cli.CatchSignals(ctx, a.exit)
	defer ctl.Release()
	s, err := swarm.Open(ctl.Session, j.opts)
	if err != nil {
		return swarm.Info{}, a.notOpened(j.opts, err)
	}
	a.warnOfProblems(s)
	v := a.newView(s, j.show, ctl.Unread)
	watch := follow(context.WithoutCancel(ctx), s.Events(), v)
	ctl.EndWhen(s.Quitting())
	result, runErr := a.goOn(ctl.Run, s, j.prompt)
	closeErr := s.Close()
	<-watch
	result.Session = s.ID()
	if _, begun := leadOf(s.Agents()); !begun && j.opts.Session == "" {
		closeErr = errors.Join(closeErr, os.RemoveAll(s.Info().Path)) // there is nothing to go on with
	}
	return s.Info(), errors.Join(a.conclude(v, ctl, verdict{Result: result, Err: runErr}), closeErr)
}

// notOpened says of a session that another process runs what can be done with it.
func (a *app) notOpened(o swarm.Options, err error) error {
	if o.Session == "" {
		return err
	}
	info, findErr := a.find(o.Dir, o.Session)
	if findErr != nil {
		return err
	}
	r, dialErr := a.dial(info)
	if dialErr != nil {
		return err
	}
	r.Close()
	return fmt.Errorf("session %s runs in another process; join it: swarm attach %s; write to it: swarm send --session %s lead TEXT; follow it: swarm tail %s", info.ID, info.ID, info.ID, info.ID)
}

// follow shows events until the session has closed. The channel is closed when
// all of them have been shown.
func follow(ctx context.Context, sub *event.Subscription, v view) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer sub.Close()
		for {
			e, err := sub.Next(ctx)
			if err != nil {
				return
			}
			v.See(e)
		}
	}()
	return done
}

const goOnPrompt = "Go on from where you were stopped."

// goOn gives the lead its prompt, or brings back what was cut. A lead whose
// last turn came to a bad end is told to go on, since nothing else would.
func (a *app) goOn(ctx context.Context, s *swarm.Session, prompt string) (swarm.Result, error) {
	if prompt != "" {
		return s.Run(ctx, prompt)
	}
	lead, ok := leadOf(s.Agents())
	switch {
	case !ok:
		return swarm.Result{}, fmt.Errorf("session %s has no work yet; give it some: swarm run --resume %s PROMPT", s.ID(), s.ID())
	case lead.Life.TurnOpen, lead.Unread > 0, lead.Life.Turns == 0, lead.Life.Outcome == "completed":
		return s.Resume(ctx)
	}
	a.Notef("the lead's last turn ended early (%s); it is told to go on", lead.Life.Outcome)
	return s.Run(ctx, goOnPrompt)
}

func leadOf(agents []actors.Status) (actors.Status, bool) {
	for _, s := range agents {
		if s.Life.Spec.ID == agent.LeadID {
			return s, true
		}
	}
	return actors.Status{}, false
}

// conclude shows how the run ended and returns the exit status as an error.
func (a *app) conclude(v view, ctl *cli.Signals, r verdict) error {
	err := v.Finish(r)
	code := ctl.ExitCode()
	if err != nil && (code == 0 || code == cli.ExitFailed) {
		return fmt.Errorf("write the result: %w; everything is kept, go on with: swarm resume %s", err, r.Session)
	}
	if code != 0 { // a signal says enough: it ends a pipeline's readers as well
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
	return fmt.Errorf("the lead's turn ended early (%s): %s; go on with: swarm resume %s%s", r.Outcome, reasonOf(r.Reason), r.Session, higher)
}
