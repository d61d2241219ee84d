package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// Log is what the loop uses of a *transcript.Transcript.
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

// Turn holds what one turn needs. Log is required; so are Model and Base, unless Prepare
// sets them.
type Turn struct {
	Log Log
	// Prepare, if not nil, runs first, as a part of the turn, and may set the other
	// fields. Its error ends the turn like any other, and so does a cancellation.
	Prepare func(context.Context, *Turn) error
	Model   model.Model
	// Base is the part that all requests of the turn share. The loop sets Caller.Step.
	Base  model.Request
	Tools *tool.Set
	// Permit decides about each call, and may wait for a person; nil allows every
	// call. Its error ends the turn.
	Permit func(context.Context, tool.Spec, model.Call) (Verdict, error)
	// Hooks, if not nil, run at points of the turn.
	Hooks Hooks
	// Emit, if not nil, is called with each fact, also by parallel calls at the same
	// time.
	Emit func(event.Fact)
	// OnEvent, if not nil, is called first with each event of a model's stream.
	OnEvent func(model.Event)
	// OnRead, if not nil, is called with the messages that a recorded request carries.
	OnRead func([]mailbox.Envelope)
	// Admit, if not nil, is called before a request is sent and may lower its MaxTokens.
	// charge is called once, with the answer, or nil if none came. An error ends the
	// turn; ErrOverBudget gives that outcome.
	Admit func(context.Context, *model.Request) (charge func(*model.Answer), err error)
	// MaxSteps limits the answers of this turn; 0 means no limit.
	MaxSteps int
	// StepsBefore is how many answers the turn has from before a crash.
	StepsBefore int
	// LastTurn reports that the agent ends with this turn: it reads also the mail that
	// would wait for the next one.
	LastTurn bool
	// MaxParallel bounds the read-only calls that run at the same time;
	// 0 means 10.
	MaxParallel int
	// Window is the context window of Model in tokens; 0 means DefaultWindow.
	Window int64
	// Facts, if not nil, returns what the runtime knows of the agent's surroundings. The
	// first request after a compaction carries it, since a summary may be wrong about it.
	Facts func() string
	// TranscriptPath is where the agent can read the whole conversation, if not "".
	TranscriptPath string
	// Spill, if not nil, stores a text of which a request carries a part only, and
	// returns where the agent can read it. The same id has the same text. Otherwise
	// the text is in TranscriptPath.
	Spill func(id, text string) (path string, err error)
	// ObjectPath, if not nil, returns where the agent can read the whole body of a
	// message with a reference.
	ObjectPath func(mailbox.Ref) string
	// StopAfterCalls, if not nil, is called after the calls of an answer and returns the
	// reason for which the turn ends with them, or "".
	StopAfterCalls func() string
	// CompactRequest, if not nil, takes a pending request for a compaction, and returns
	// the function that receives its result, or nil if there is no request.
	CompactRequest func() func(error)

	ratio        float64     // bytes a token, as last counted
	refused      int64       // tokens of the smallest request that was too long; 0 if there was none
	summaryUsage model.Usage // of summaries, not yet in End
	partial      partial
	current      currentStep
	stops        int // how often hooks have kept the turn going

	finishing sync.Mutex
	finished  []Finished // calls since hooks were told of a batch; guarded by finishing
}

// End describes how a turn ended.
type End struct {
	Outcome agent.Outcome
	Text    string // of the last answer; marked as partial if it was interrupted
	Reason  string // empty if completed
	Steps   int    // answers, including those from before a crash
	Usage   model.Usage
	Took    time.Duration
	// Open reports that the turn has not ended: a shutdown cut it, and it continues
	// after a restart. Then only Steps, Usage and Took are set besides.
	Open bool
}

// Run runs the turn until the agent has nothing left to do and records how it ended. It
// returns an error only if the runtime failed, such as the journal; failures of the model
// or of a tool are in End.
func (t *Turn) Run(ctx context.Context) (End, error) {
	t.setDefaults()
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
		t.failed(ctx, end.Outcome, err)
		end.Reason = reasonOf(ctx, err)
		end.Text = t.partial.orElse(end.Text)
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

// setDefaults sets callbacks that are nil.
func (t *Turn) setDefaults() {
	if t.Emit == nil {
		t.Emit = func(event.Fact) {}
	}
	if t.OnEvent == nil {
		t.OnEvent = func(model.Event) {}
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
	// There may have been a crash between the last answer and the record of the end.
	switch answer, err := t.Log.Final(); {
	case err != nil:
		return err
	case answer != nil && !t.hasMail():
		end.Text = answer.Text()
		end.Outcome, end.Reason = outcomeOfAnswer(answer)
		if done, err := t.ends(ctx, end); done || err != nil {
			return err
		}
	}
	return t.loop(ctx, end)
}

// loop runs steps until the last one and fills end.
func (t *Turn) loop(ctx context.Context, end *End) error {
	for {
		if done, err := t.runStep(ctx, end); done || err != nil {
			return err
		}
	}
}

// runStep runs one step. A control message cuts the step and not the turn.
func (t *Turn) runStep(ctx context.Context, end *End) (done bool, err error) {
	step, leave := t.current.enter(ctx)
	defer leave()
	done, err = t.advance(step, end)
	if err != nil && preempted(step) {
		return false, t.abandonStep()
	}
	return done, err
}

// advance runs the calls of the newest answer and requests the next answer. It reports
// whether the turn is done.
func (t *Turn) advance(ctx context.Context, end *End) (done bool, err error) {
	if err := t.runCalls(ctx); err != nil {
		return false, err
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	if t.stopAfterCalls(end) {
		return true, nil
	}
	if t.MaxSteps > 0 && end.Steps >= t.MaxSteps {
		end.Outcome = agent.MaxTurns
		end.Reason = fmt.Sprintf("its limit of turns (%d) is reached; the work may be partial", t.MaxSteps)
		return true, nil
	}
	answer, err := t.step(ctx, end.Steps)
	end.Usage, t.summaryUsage = end.Usage.Add(t.summaryUsage), model.Usage{}
	if err != nil {
		return false, err
	}
	end.Steps++
	end.Usage = end.Usage.Add(answer.Usage)
	if text := answer.Text(); text != "" || len(answer.Calls()) == 0 {
		end.Text = text
	}
	if len(answer.Calls()) == 0 && !t.hasMail() {
		end.Outcome, end.Reason = outcomeOfAnswer(answer)
		return t.ends(ctx, end)
	}
	return false, nil
}

func (t *Turn) stopAfterCalls(end *End) bool {
	if t.StopAfterCalls == nil {
		return false
	}
	reason := t.StopAfterCalls()
	if reason != "" {
		end.Outcome, end.Reason = agent.Completed, reason
	}
	return reason != ""
}

// outcomeOfAnswer returns the outcome of a turn whose last answer has no calls.
func outcomeOfAnswer(a *model.Answer) (agent.Outcome, string) {
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

// step makes one model request and records its answer. After a request that is too long it
// compacts the conversation and tries once more.
func (t *Turn) step(ctx context.Context, n int) (*model.Answer, error) {
	answer, err := t.ask(ctx, n)
	if tooLong(err) {
		if err := t.compactRefused(ctx, err); err != nil {
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

// send sends an admitted request, and calls leaves just before.
func (t *Turn) send(ctx context.Context, req *model.Request, quiet bool, leaves func()) (answer *model.Answer, err error) {
	if t.Admit != nil {
		charge, err := t.Admit(ctx, req)
		if err != nil {
			return nil, err
		}
		defer func() { charge(answer) }()
	}
	leaves()
	if answer, err = t.stream(ctx, req, quiet); answer != nil {
		answer.Requested = req.Model
	}
	return answer, err
}

// compactRefused compacts a conversation that the provider refused for its size.
func (t *Turn) compactRefused(ctx context.Context, refusal error) error {
	d, err := t.Log.Draft()
	if err != nil {
		return err
	}
	t.refused = int64(t.measure(d).used)
	err = t.compact(ctx, transcript.TooLong)
	if errors.Is(err, ErrNothingToCompact) {
		return fmt.Errorf("%w (%w)", refusal, err)
	}
	return err
}

// ask records the next request and makes it.
func (t *Turn) ask(ctx context.Context, n int) (*model.Answer, error) {
	if err := t.compactOnDemand(ctx); err != nil {
		return nil, err
	}
	req, read, err := t.next(ctx, n)
	if err != nil {
		return nil, err
	}
	req.Caller.Step = n
	return t.send(ctx, req, false, func() {
		if len(read) > 0 && t.OnRead != nil {
			t.OnRead(read)
		}
		t.Emit(event.Requested{Step: n, Mail: idsOf(read)})
	})
}

// compactOnDemand compacts if that was requested. Its failure goes to the requester and
// does not fail the turn, unless the turn is cancelled.
func (t *Turn) compactOnDemand(ctx context.Context) error {
	if t.CompactRequest == nil {
		return nil
	}
	if reply := t.CompactRequest(); reply != nil {
		reply(t.compact(ctx, transcript.Manual))
	}
	return context.Cause(ctx)
}

// next records the next request with as much new content as fits, after a compaction if
// necessary, and returns it with its new messages.
func (t *Turn) next(ctx context.Context, step int) (*model.Request, []mailbox.Envelope, error) {
	for {
		d, err := t.Log.Draft()
		if err != nil {
			return nil, nil, err
		}
		d.Mail = t.admissible(d, step)
		g := t.measure(d)
		if !d.Fresh && g.mustCompact(pendingSize(d)) {
			switch err := t.compact(ctx, transcript.Auto); {
			case err == nil:
				continue
			case !errors.Is(err, ErrNothingToCompact) && !errors.Is(err, ErrBlocked):
				return nil, nil, err
			}
		}
		in, read, err := t.intake(d, g)
		if err != nil {
			return nil, nil, err
		}
		switch msgs, err := t.admitUnlessCut(ctx, in); {
		case errors.Is(err, transcript.ErrChanged):
		case err != nil:
			return nil, nil, err
		default:
			req, err := t.request(g, d, msgs)
			return req, read, err
		}
	}
}

// pendingSize returns the size in bytes of the new content for the next request.
func pendingSize(d transcript.Draft) (prompts, others int) {
	for i, raw := range d.Waiting {
		if i < len(d.Results) {
			others += len(raw)
		} else {
			prompts += len(raw)
		}
	}
	for _, e := range d.Mail {
		others += len(e.Body) + minPart/2 // its frame
	}
	return prompts, others
}

// request returns the recorded request, or an error if the window has no room for it. The
// error comes after the record, so that the content that waited does not cause another turn
// that fails the same way.
func (t *Turn) request(g gauge, d transcript.Draft, msgs []model.Message) (*model.Request, error) {
	req := t.Base
	req.Messages = msgs
	size := g.used + g.tokens(bytesOf(msgs[len(d.Messages):]))
	if g.counted && size > full*g.window {
		return nil, &FullError{Model: t.Base.Model, Tokens: int64(size), Window: int64(g.window)}
	}
	req.MaxTokens = g.maxAnswer(req.MaxTokens, size)
	return &req, nil
}

var errNoAnswer = errors.New("the model's stream ended without an answer")

// stream reads one answer to its end. An interrupted stream leaves nothing in the
// conversation. A quiet one causes no events.
func (t *Turn) stream(ctx context.Context, req *model.Request, quiet bool) (*model.Answer, error) {
	for e, err := range t.Model.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		t.OnEvent(e)
		if !quiet {
			t.partial.add(e)
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
