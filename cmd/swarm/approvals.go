package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/spf13/cobra"
)

func newApprovals(a *app) *cobra.Command {
	var at where
	var format string
	c := &cobra.Command{
		Use:   "approvals",
		Short: "List and answer what agents ask you",
		Long: `Approvals lists what the agents of running sessions ask: permission for a tool
call, or questions of their own. Each waits until it is answered here or where
the session is shown, until its time is over, or until its agent is stopped. A
session that nobody watches asks only with --permission-prompts wait or
--ask-timeout, and about messages of other sessions that it holds (--inbound).
Questions survive a crash of the session and are asked again under the same id.`,
		Example: `  swarm approvals
  swarm approvals allow k3vq7x2m --note "but only in this directory"
  swarm approvals answer 7c0e2hq9 blue`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			return approvals(c.Context(), &a.Console, at, format == "json")
		},
	}
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	c.PersistentFlags().StringVar(&at.session, "session", "", "the session's `id` (default: all that run)")
	c.PersistentFlags().StringVar(&at.dir, "dir", "", "the `directory` whose sessions are meant (default: the working directory)")
	c.AddCommand(newAllow(a, &at), newDeny(a, &at), newAnswer(a, &at))
	for _, sub := range c.Commands() {
		sub.ValidArgsFunction = a.completeQuestion
	}
	return c
}

// where selects the questions.
type where struct{ dir, session string }

func newAllow(a *app, at *where) *cobra.Command {
	var answer swarm.Answer
	c := &cobra.Command{
		Use: "allow ID", Short: "Let a tool call run",
		Long: `Allow lets the call run that an agent asks about. The note, if there is one,
is told to the agent with the result. With --always the calls that the list
names after "always:" are allowed from now on in the whole session, and with
--scope in all that come: the rules are saved in your settings file of the
project (local), the project's (project) or that of your home (user).`,
		RunE: func(c *cobra.Command, args []string) error {
			answer.Allow, answer.Always = true, answer.Always || answer.Scope != ""
			return answerQuestion(&a.Console, c, *at, args, func(swarm.Question) (swarm.Answer, error) { return answer, nil })
		},
	}
	c.Flags().StringVar(&answer.Note, "note", "", "a `text` for the agent")
	c.Flags().BoolVar(&answer.Always, "always", false, "allow calls like this for the rest of the session")
	c.Flags().StringVar(&answer.Scope, "scope", "", "allow calls like this for good, by a rule in the settings `file`: local, project or user")
	cli.CompleteFlag(c, "scope", cobra.FixedCompletions(settings.Scopes(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func newDeny(a *app, at *where) *cobra.Command {
	var answer swarm.Answer
	c := &cobra.Command{
		Use: "deny ID", Short: "Refuse a tool call, or decline to answer",
		RunE: func(c *cobra.Command, args []string) error {
			return answerQuestion(&a.Console, c, *at, args, func(swarm.Question) (swarm.Answer, error) { return answer, nil })
		},
	}
	c.Flags().StringVar(&answer.Note, "note", "", "a `text` for the agent")
	return c
}

func newAnswer(a *app, at *where) *cobra.Command {
	return &cobra.Command{
		Use: "answer ID CHOICE… | TEXT…", Short: "Answer a question of an agent",
		Long: `Answer takes for each thing asked one choice: its number, its label, or, where
several may be chosen, some of them with commas between. Anything else is an
answer in your own words.`,
		RunE: func(c *cobra.Command, args []string) error {
			return answerQuestion(&a.Console, c, *at, args[:min(1, len(args))], func(q swarm.Question) (swarm.Answer, error) {
				return parseAnswer(q, args[1:])
			})
		},
	}
}

// parseAnswer parses the words after the id.
func parseAnswer(q swarm.Question, words []string) (swarm.Answer, error) {
	switch {
	case q.Kind != event.AsksAnswer:
		return swarm.Answer{}, cli.Usagef("%s asks for a permission; use: swarm approvals allow %s, or deny", q.ID, q.ID)
	case strings.TrimSpace(strings.Join(words, "")) == "":
		return swarm.Answer{}, cli.Usagef("the answer is empty; write it after the id: swarm approvals answer %s TEXT", q.ID)
	case len(words) != len(q.Choices):
		return swarm.Answer{Allow: true, Text: strings.Join(words, " ")}, nil
	}
	answer := swarm.Answer{Allow: true}
	for i, word := range words {
		answer.Choices = append(answer.Choices, choiceLabels(q.Choices[i], word))
	}
	return answer, nil
}

// choiceLabels returns the labels that a word selects, or the word itself.
func choiceLabels(c event.Choice, word string) []string {
	if label, ok := labelOf(c, word); ok {
		return []string{label}
	}
	if c.MultiSelect {
		var labels []string
		for part := range strings.SplitSeq(word, ",") {
			label, ok := labelOf(c, strings.TrimSpace(part))
			if !ok {
				return []string{word}
			}
			labels = append(labels, label)
		}
		return labels
	}
	return []string{word}
}

func labelOf(c event.Choice, word string) (string, bool) {
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(c.Options) {
		return c.Options[n-1].Label, true
	}
	for _, o := range c.Options {
		if strings.EqualFold(o.Label, word) {
			return o.Label, true
		}
	}
	return "", false
}

// askingSession is a running session with its open questions.
type askingSession struct {
	info      swarm.Info
	remote    *swarm.Remote
	questions []swarm.Question
}

// askingSessions connects to the selected sessions. The caller closes their remotes.
func askingSessions(ctx context.Context, con *cli.Console, at where) (all []askingSession, err error) {
	infos, err := chosenSessions(con, at)
	for _, info := range infos {
		r, dialErr := con.Sessions().Dial(info)
		if cli.NotRunning(dialErr) && at.session == "" {
			continue
		}
		if dialErr != nil {
			return all, dialErr
		}
		s := askingSession{info: info, remote: r}
		all = append(all, s)
		if all[len(all)-1].questions, err = r.Questions(ctx); err != nil {
			return all, err
		}
	}
	return all, err
}

func chosenSessions(con *cli.Console, at where) ([]swarm.Info, error) {
	if at.session == "" {
		return con.Sessions().List(at.dir)
	}
	info, err := con.Sessions().Find(at.dir, at.session)
	return []swarm.Info{info}, err
}

func closeAll(all []askingSession) {
	for _, s := range all {
		s.remote.Close()
	}
}

// approvalRow is a question in the output of approvals.
type approvalRow struct {
	Session string `json:"session"`
	swarm.Question
}

func approvals(ctx context.Context, con *cli.Console, at where, asJSON bool) error {
	all, err := askingSessions(ctx, con, at)
	defer closeAll(all)
	if err != nil {
		return err
	}
	rows := []approvalRow{}
	for _, s := range all {
		for _, q := range s.questions {
			rows = append(rows, approvalRow{s.info.ID, q})
		}
	}
	switch {
	case asJSON:
		return con.PrintJSON(rows)
	case len(all) == 0:
		con.Notef("no session runs here; the questions of one that was cut come back with: swarm resume")
		return nil
	case len(rows) == 0:
		con.Notef("there are no open questions")
		return nil
	}
	var b strings.Builder
	scr, now := con.Screen(), time.Now()
	for _, r := range rows {
		session := ""
		if len(all) > 1 {
			session = " in " + r.Session
		}
		view.WriteQuestion(&b, scr, r.Question, session, now)
	}
	return con.Print(b.String())
}

// answerQuestion answers the question that args select.
func answerQuestion(con *cli.Console, c *cobra.Command, at where, args []string, answer func(swarm.Question) (swarm.Answer, error)) error {
	if len(args) != 1 {
		return cli.Usagef("name one question: %s; the questions are listed by: swarm approvals", c.UseLine())
	}
	if name := con.Getenv("SWARM_AGENT"); name != "" {
		return fmt.Errorf("this was started by the agent %s; only a person answers questions", term.Clean(name))
	}
	all, err := askingSessions(c.Context(), con, at)
	defer closeAll(all)
	if err != nil {
		return err
	}
	s, q, err := findQuestion(all, args[0])
	if err != nil {
		return err
	}
	said, err := answer(q)
	if err != nil {
		return err
	}
	if err := s.remote.Answer(c.Context(), args[0], said); err != nil {
		return err
	}
	return con.Print(term.Clean(fmt.Sprintf("%s: %s · %s", view.AgentLabel(q.Agent), q.Summary, answerText(said))) + "\n")
}

func answerText(a swarm.Answer) string {
	switch {
	case a.IsAnswer():
		return "answered"
	case a.Scope != "":
		return "allowed, and from now on by a rule in the settings (" + a.Scope + ")"
	case a.Always:
		return "allowed, and from now on"
	case a.Allow:
		return "allowed"
	}
	return "denied"
}

// findQuestion returns the question with an id. If no session has it open, the only
// session gets the request and reports why.
func findQuestion(all []askingSession, id string) (askingSession, swarm.Question, error) {
	var found []askingSession
	var q swarm.Question
	for _, s := range all {
		if i := slices.IndexFunc(s.questions, func(q swarm.Question) bool { return q.ID == id }); i >= 0 {
			found, q = append(found, s), s.questions[i]
		}
	}
	switch {
	case len(found) == 1:
		return found[0], q, nil
	case len(found) > 1:
		return askingSession{}, q, cli.Usagef("%d sessions ask %s; name one with --session", len(found), id)
	case len(all) == 1:
		return all[0], swarm.Question{ID: id, Kind: event.AsksAnswer}, nil
	case len(all) == 0:
		return askingSession{}, q, errors.New("no session runs here; the questions of one that was cut come back with: swarm resume")
	}
	return askingSession{}, q, fmt.Errorf("no session asks %q; the questions are listed by: swarm approvals", id)
}

// completeQuestion completes the ids of open questions and, after an id, its answers.
func (a *app) completeQuestion(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const nothingElse = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	all, err := askingSessions(c.Context(), &a.Console, where{dir: cli.FlagValue(c, "dir"), session: cli.FlagValue(c, "session")})
	defer closeAll(all)
	if err != nil {
		return nil, nothingElse
	}
	var offers []string
	for _, s := range all {
		for _, q := range s.questions {
			switch {
			case len(args) == 0:
				offers = append(offers, cobra.CompletionWithDesc(q.ID, term.Clean(view.AgentLabel(q.Agent)+": "+q.Summary)))
			case q.ID == args[0] && len(args) <= len(q.Choices):
				for _, o := range q.Choices[len(args)-1].Options {
					offers = append(offers, cobra.CompletionWithDesc(term.Clean(o.Label), term.Clean(o.Description)))
				}
			}
		}
	}
	return offers, nothingElse
}
