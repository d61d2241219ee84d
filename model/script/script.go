// Package script answers model requests from a YAML file, offline, for demos
// and tests. The format is described in docs/script-model.md.
//
//	rules := `
//	rules:
//	  - when: {agent: lead, step: 0}
//	    say: {calls: [{tool: Grep, input: {pattern: TODO}}]}
//	  - say: {text: "Done."}
//	`
//	m, err := script.Load([]byte(rules))
//	answer, err := model.Complete(ctx, m, request)
//
// Laws:
//
//   - The first rule that matches answers. Everything a rule matches on and
//     every template reads only the request, so the same request gets the same
//     answer, byte for byte, also in another process. The one exception is
//     repeat, which counts in memory per rule and agent
//     (TestTheSameRequestGetsTheSameAnswer, TestRepeatCountsPerAgent).
//   - The if of a rule is asked last, when all else of its when fits. A rule
//     that is passed over is not counted as used (TestIfIsAskedAfterTheOtherConditions).
//   - A request that no rule matches is an error that names the agent, the step
//     and why each rule was passed over. Nothing is answered by default
//     (TestUnmatchedRequestNamesAgentStepAndRules).
//   - A mistake in the file is found by Load, with its line; one that only shows
//     when a template runs ends the request with the line of the template
//     (TestLoadErrorsNameTheLine, TestFailingTemplatesNameTheLine).
//
// Usage is an estimate of four bytes a token. A Script is safe for concurrent
// use and starts no goroutines.
package script

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/actorswarm/swarm/model"
)

// Script is a model.Model made of rules.
type Script struct {
	name  string
	rules []*rule

	mu   sync.Mutex
	used map[useKey]int // guarded by mu
}

// useKey counts the answers of a rule with a repeat to one agent.
type useKey struct {
	rule           *rule
	session, agent string
}

var _ model.Model = (*Script)(nil)

// Stream answers by the first rule that matches. See model.Model.
func (s *Script) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		answer, err := s.answer(ctx, r)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		for _, b := range answer.Message.Blocks() {
			for _, e := range deltas(b) {
				if !yield(e, nil) {
					return
				}
			}
		}
		yield(model.Event{Kind: model.Finished, Answer: answer}, nil)
	}
}

func (s *Script) answer(ctx context.Context, r *model.Request) (*model.Answer, error) {
	v := newView(r)
	rule, err := s.pick(v)
	if err != nil {
		return nil, err
	}
	say := &rule.say
	if err := pause(ctx, say); err != nil {
		return nil, err
	}
	if say.failure != nil {
		failure := *say.failure
		return nil, &failure
	}
	blocks, err := say.blocks(v)
	if err != nil {
		return nil, rule.templateError(err)
	}
	stop := model.StopEndTurn
	if len(say.calls) > 0 {
		stop = model.StopToolUse
	}
	return model.NewAnswer("msg_"+v.mark, s.name, stop, usage(r, blocks), blocks)
}

// pick returns the first rule that matches and counts its use.
func (s *Script) pick(v *view) (*rule, error) {
	var tried []string
	for _, r := range s.rules {
		why, err := r.when.mismatch(v)
		if err != nil {
			return nil, r.templateError(err)
		}
		if why == "" {
			why = s.countUse(r, v)
		}
		if why == "" {
			return r, nil
		}
		tried = append(tried, r.label()+": "+why)
	}
	return nil, &model.Error{Kind: model.Invalid, Type: "script", Message: fmt.Sprintf(
		"no rule of the script matches agent %q (type %q) at step %d of turn %d; rules tried: %s",
		v.caller.Agent, v.caller.Type, v.Step, v.Turn, strings.Join(tried, "; "))}
}

// countUse counts a use of the rule, or returns why there is none left.
func (s *Script) countUse(r *rule, v *view) string {
	if r.say.repeat == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := useKey{r, v.caller.Session, v.caller.AgentID + "/" + v.caller.Agent}
	if s.used[u] >= r.say.repeat {
		return fmt.Sprintf("it has answered %d times", r.say.repeat)
	}
	s.used[u]++
	return ""
}

// pause waits for the delay or the stall.
func pause(ctx context.Context, s *say) error {
	if ctx.Err() != nil {
		return model.Cancelled(ctx)
	}
	if s.delay == 0 && !s.stall {
		return nil
	}
	var passed <-chan time.Time
	if !s.stall {
		timer := time.NewTimer(s.delay)
		defer timer.Stop()
		passed = timer.C
	}
	select {
	case <-passed:
		return nil
	case <-ctx.Done():
		return model.Cancelled(ctx)
	}
}

// deltas cuts a block into the events that observers see while it arrives.
func deltas(b model.Block) (events []model.Event) {
	switch b.Type {
	case model.TypeToolUse:
		return []model.Event{{Kind: model.CallStarted, Call: model.Call{ID: b.ID, Name: b.Name}}}
	case model.TypeThinking:
		for _, p := range pieces(b.Thinking) {
			events = append(events, model.Event{Kind: model.ThinkingDelta, Text: p})
		}
	case model.TypeText:
		for _, p := range pieces(b.Text) {
			events = append(events, model.Event{Kind: model.TextDelta, Text: p})
		}
	}
	return events
}

// pieces cuts text into at most eight parts without cutting a character.
func pieces(s string) (parts []string) {
	size := max(12, len(s)/8+1)
	for len(s) > size {
		end := size
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		parts, s = append(parts, s[:end]), s[end:]
	}
	return append(parts, s)
}

func usage(r *model.Request, blocks []model.Block) model.Usage {
	in, out := 0, 0
	for _, t := range r.Tools {
		in += len(t)
	}
	for _, t := range r.System {
		in += len(t)
	}
	for _, m := range r.Messages {
		in += len(m.Raw())
	}
	for _, b := range blocks {
		out += len(b.Text) + len(b.Thinking) + len(b.Input)
	}
	return model.Usage{InputTokens: int64(in/4 + 1), OutputTokens: int64(out/4 + 1)}
}

// fingerprint makes ids that are the same for the same request.
func fingerprint(r *model.Request) string {
	h := fnv.New32a()
	write := func(b []byte) {
		// A hash.Hash never returns an error.
		if _, err := h.Write(b); err != nil {
			panic(err)
		}
	}
	write([]byte(r.Caller.AgentID + "\x00" + r.Caller.Agent))
	if n := len(r.Messages); n > 0 {
		write(r.Messages[n-1].Raw())
	}
	return fmt.Sprintf("%d_%08x", len(r.Messages), h.Sum32())
}
