package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// Log is the transcript as the loop uses it. *transcript.Transcript is one.
type Log interface {
	Unread() []mailbox.Envelope
	Draft() (transcript.Draft, error)
	Admit(transcript.Intake) ([]model.Message, error)
	Compact(transcript.Compaction) error
	Answer(*model.Answer) error
	Final() (*model.Answer, error)
	Calls() ([]transcript.CallState, error)
	StartCall(id string, durable bool) error
	FinishCall(id string, r transcript.CallResult, durable bool) error
	End(o agent.Outcome, reason, text, note string) error
}

// Turn is everything one turn needs. Log is required; Model and Base are too,
// unless Prepare sets them.
type Turn struct {
	Log Log
	// Prepare runs first, inside the turn, and may fill in the rest: what it
	// waits for can be cancelled like the turn, and its error ends the turn like
	// any other. May be nil.
	Prepare func(context.Context, *Turn) error
	Model   model.Model
	// Base is every request of the turn without its messages. The loop sets
	// Caller.Step.
	Base  model.Request
	Tools *tool.Set
	// Permit decides about each call, and may wait for a person; nil allows every
	// call. Its error, as that of its context, ends the turn.
	Permit func(context.Context, tool.Spec, model.Call) (Verdict, error)
	// Emit is told what happens, by parallel calls at the same time; nil means
	// nobody watches.
	Emit func(event.Fact)
	// Watch is told of each event of a model's stream before anything else is;
	// may be nil.
	Watch func(model.Event)
	// Read is told which messages a recorded request carries; may be nil.
	Read func([]mailbox.Envelope)
	// Admit is asked before a request leaves, and may lower its MaxTokens. settle
	// is called once, with the answer, or nil if none came. An error ends the
	// turn: one that is ErrOverBudget with that outcome. May be nil.
	Admit func(context.Context, *model.Request) (settle func(*model.Answer), err error)
	// MaxSteps is the most answers of this turn; 0 means no limit.
	MaxSteps int
	// StepsBefore is how many of them it has from before a crash.
	StepsBefore int
	// Only says that the agent ends with this turn: mail that would wait for the
	// next one enters this one.
	Only bool
	// MaxParallel bounds the read-only calls that run at the same time;
	// 0 means 10.
	MaxParallel int
	// Window is the context window of Model in tokens; 0 means DefaultWindow.
	Window int64
	// Facts says what the runtime knows of the agent's world. The first request
	// after a compaction carries it: a summary is not to be relied on for it. May
	// be nil.
	Facts func() string
	// Record names the place where the whole conversation can be read; may be empty.
	Record string
	// Spill keeps a text of which a request carries a part only, and says where
	// the agent can read it. The same id comes with the same text. If nil, Record
	// is where.
	Spill func(id, text string) (path string, err error)
	// Object says where the agent can read the whole body of a message that names
	// it; may be nil.
	Object func(mailbox.Ref) string
	// Pause is asked after the calls of an answer and says why the turn is to end
	// with them, "" if it goes on. May be nil.
	Pause func() string
	// Demand takes the wish that the conversation be compacted now, if somebody
	// has one, and returns who is to be told of the outcome; may be nil.
	Demand func() func(error)

	ratio   float64     // bytes a token, as last counted
	refused int64       // tokens of the smallest request that was too long; 0: none was
	paid    model.Usage // for summaries, not yet in End
	saying  partial
	steps   stepping
}

// End is how a turn ended.
type End struct {
	Outcome agent.Outcome
	Text    string // of the last answer; marked as partial if that broke off
	Reason  string // why, unless completed
	Steps   int    // answers, also those from before a crash
	Usage   model.Usage
	Took    time.Duration
	// Open says that the turn has not ended: it was cut by a shutdown and goes
	// on after a restart. Nothing else but Steps, Usage and Took is set then.
	Open bool
}

// Run runs the turn until the agent has nothing left to do and records how it
// ended. The error is one of the runtime (the journal failed): whatever the
// model or a tool did wrong is in End.
func (t *Turn) Run(ctx context.Context) (End, error) {
	t.watched()
	begun := time.Now()
	end := End{}
	err := t.prepared(ctx, &end)
	end.Took = time.Since(begun)
	if err != nil {
		var open bool
		if end.Outcome, open = outcomeOf(ctx, err); open {
			end.Open = true
			return end, nil
		}
		end.Reason = reasonOf(ctx, err)
		end.Text = t.saying.or(end.Text)
	}
	if err := t.Log.End(end.Outcome, end.Reason, end.Text, "not run: the turn was "+string(end.Outcome)); err != nil {
		return end, err
	}
	t.Emit(event.TurnEnded{
		Outcome: string(end.Outcome), Text: end.Text, Reason: end.Reason,
		Steps: end.Steps, Usage: end.Usage, Took: end.Took,
	})
	return end, nil
}

// watched puts somebody in the place of observers that are not there.
func (t *Turn) watched() {
	if t.Emit == nil {
		t.Emit = func(event.Fact) {}
	}
	if t.Watch == nil {
		t.Watch = func(model.Event) {}
	}
}

func reasonOf(ctx context.Context, err error) string {
	if cause := context.Cause(ctx); cause != nil {
		return cause.Error()
	}
	return err.Error()
}

func (t *Turn) prepared(ctx context.Context, end *End) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if t.Prepare != nil {
		if err := t.Prepare(ctx, t); err != nil {
			return err
		}
	}
	end.Steps = t.StepsBefore
	// A crash may have cut between the last answer and the record of the end.
	switch answer, err := t.Log.Final(); {
	case err != nil:
		return err
	case answer != nil && !t.pressed():
		end.Text = answer.Text()
		end.Outcome, end.Reason = conclude(answer)
		return nil
	}
	return t.loop(ctx, end)
}

// loop goes from step to step. It fills end as far as it comes.
func (t *Turn) loop(ctx context.Context, end *End) error {
	for {
		if done, err := t.round(ctx, end); done || err != nil {
			return err
		}
	}
}

// round is one step that a control message may cut, which ends only the step.
func (t *Turn) round(ctx context.Context, end *End) (done bool, err error) {
	step, leave := t.steps.enter(ctx)
	defer leave()
	done, err = t.advance(step, end)
	if err != nil && preempted(step) {
		return false, t.drop()
	}
	return done, err
}

// advance runs the calls of the newest answer and asks for the next one. It
// reports whether that was the last.
func (t *Turn) advance(ctx context.Context, end *End) (done bool, err error) {
	if err := t.runCalls(ctx); err != nil {
		return false, err
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	if t.paused(end) {
		return true, nil
	}
	if t.MaxSteps > 0 && end.Steps >= t.MaxSteps {
		end.Outcome = agent.MaxTurns
		end.Reason = fmt.Sprintf("its limit of turns (%d) is reached; the work may be partial", t.MaxSteps)
		return true, nil
	}
	answer, err := t.step(ctx, end.Steps)
	end.Usage, t.paid = end.Usage.Add(t.paid), model.Usage{}
	if err != nil {
		return false, err
	}
	end.Steps++
	end.Usage = end.Usage.Add(answer.Usage)
	if text := answer.Text(); text != "" || len(answer.Calls()) == 0 {
		end.Text = text
	}
	if len(answer.Calls()) == 0 && !t.pressed() {
		end.Outcome, end.Reason = conclude(answer)
		return true, nil
	}
	return false, nil
}

func (t *Turn) paused(end *End) bool {
	if t.Pause == nil {
		return false
	}
	why := t.Pause()
	if why != "" {
		end.Outcome, end.Reason = agent.Completed, why
	}
	return why != ""
}

// conclude says how a turn ended with an answer that calls no tool.
func conclude(a *model.Answer) (agent.Outcome, string) {
	switch a.StopReason {
	case "refusal":
		return agent.Failed, "the model refused to answer"
	case model.StopMaxTokens:
		return agent.Completed, "the last answer was cut at the output limit"
	case model.StopContext:
		return agent.Completed, "the last answer was cut at the end of the context window"
	}
	return agent.Completed, ""
}

// step makes one model request and records its answer. A request that is too
// long is not made again: the conversation is compacted first, once.
func (t *Turn) step(ctx context.Context, n int) (*model.Answer, error) {
	answer, err := t.ask(ctx, n)
	if tooLong(err) {
		if err := t.shrink(ctx, err); err != nil {
			return nil, err
		}
		answer, err = t.ask(ctx, n)
	}
	if err != nil {
		return nil, err
	}
	if err := t.Log.Answer(answer); err != nil {
		return nil, err
	}
	t.Emit(event.Answered{Answer: answer})
	return answer, nil
}

// send sends a request that is let out, and calls leaves just before.
func (t *Turn) send(ctx context.Context, req *model.Request, quiet bool, leaves func()) (answer *model.Answer, err error) {
	if t.Admit != nil {
		settle, err := t.Admit(ctx, req)
		if err != nil {
			return nil, err
		}
		defer func() { settle(answer) }()
	}
	leaves()
	if answer, err = t.stream(ctx, req, quiet); answer != nil {
		answer.Requested = req.Model
	}
	return answer, err
}

// shrink compacts a conversation that the provider has refused for its size.
func (t *Turn) shrink(ctx context.Context, refusal error) error {
	d, err := t.Log.Draft()
	if err != nil {
		return err
	}
	t.refused = int64(t.measure(d).used)
	err = t.compact(ctx, transcript.TooLong)
	if errors.Is(err, ErrNothing) {
		return fmt.Errorf("%w (%w)", refusal, err)
	}
	return err
}

// ask records the next request and makes it.
func (t *Turn) ask(ctx context.Context, n int) (*model.Answer, error) {
	if err := t.meetDemand(ctx); err != nil {
		return nil, err
	}
	req, read, err := t.next(ctx, n)
	if err != nil {
		return nil, err
	}
	req.Caller.Step = n
	return t.send(ctx, req, false, func() {
		if len(read) > 0 && t.Read != nil {
			t.Read(read)
		}
		t.Emit(event.Requested{Step: n, Mail: idsOf(read)})
	})
}

// meetDemand compacts if somebody has asked for it. That it cannot is told to
// who asked and is no failure of the turn, unless the turn is to end.
func (t *Turn) meetDemand(ctx context.Context) error {
	if t.Demand == nil {
		return nil
	}
	if tell := t.Demand(); tell != nil {
		tell(t.compact(ctx, transcript.Manual))
	}
	return context.Cause(ctx)
}

// next records the next request with what its size allows, after a compaction
// if it must be, and returns it with the messages that are new in it.
func (t *Turn) next(ctx context.Context, step int) (*model.Request, []mailbox.Envelope, error) {
	for {
		d, err := t.Log.Draft()
		if err != nil {
			return nil, nil, err
		}
		d.Mail = t.admissible(d, step)
		g := t.measure(d)
		if !d.Fresh && g.crowded(waits(d)) {
			switch err := t.compact(ctx, transcript.Auto); {
			case err == nil:
				continue
			case !errors.Is(err, ErrNothing):
				return nil, nil, err
			}
		}
		in, read, err := t.intake(d, g)
		if err != nil {
			return nil, nil, err
		}
		switch msgs, err := t.admitUncut(ctx, in); {
		case errors.Is(err, transcript.ErrChanged):
		case err != nil:
			return nil, nil, err
		default:
			req, err := t.request(g, d, msgs)
			return req, read, err
		}
	}
}

// waits is the size in bytes of what the next request could let in.
func waits(d transcript.Draft) (prompts, others int) {
	for i, raw := range d.Waiting {
		if i < len(d.Results) {
			others += len(raw)
		} else {
			prompts += len(raw)
		}
	}
	for _, e := range d.Mail {
		others += len(e.Body) + leastPart/2 // its frame
	}
	return prompts, others
}

// request returns the request that was recorded, unless the model has no room
// for it. That error comes after the record, so that what waited is not the
// reason for another turn that fails the same way.
func (t *Turn) request(g gauge, d transcript.Draft, msgs []model.Message) (*model.Request, error) {
	req := t.Base
	req.Messages = msgs
	size := g.used + g.tokens(bytesOf(msgs[len(d.Messages):]))
	if g.sure && size > full*g.window {
		return nil, &FullError{Model: t.Base.Model, Tokens: int64(size), Window: int64(g.window)}
	}
	req.MaxTokens = g.answer(req.MaxTokens, size)
	return &req, nil
}

var errNoAnswer = errors.New("the model's stream ended without an answer")

// stream follows one answer to its end. A stream that breaks off leaves nothing
// in the conversation: what is not finished is not recorded. A quiet one shows
// nobody what it says.
func (t *Turn) stream(ctx context.Context, req *model.Request, quiet bool) (*model.Answer, error) {
	for e, err := range t.Model.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		t.Watch(e)
		if !quiet {
			t.saying.see(e)
		}
		switch {
		case e.Kind == model.BackingOff:
			t.Emit(event.BackingOff{Backoff: *e.Backoff})
		case e.Kind == model.Finished:
			return e.Answer, nil
		case quiet:
		case e.Kind == model.TextDelta:
			t.Emit(event.Delta{Text: e.Text})
		case e.Kind == model.ThinkingDelta:
			t.Emit(event.Delta{Text: e.Text, Thinking: true})
		}
	}
	return nil, errNoAnswer
}

func idsOf(mail []mailbox.Envelope) []mailbox.ID {
	var ids []mailbox.ID
	for _, e := range mail {
		ids = append(ids, e.ID)
	}
	return ids
}
