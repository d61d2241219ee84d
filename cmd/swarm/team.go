package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/team"
)

func newTeam(a *app) *cobra.Command {
	of := teamOf{a: a}
	c := &cobra.Command{
		Use:   "team",
		Short: "Bring up, look at and change teams",
		Long: `A team is some named agents that work under a lead, with a task list of their
own. Teams are kept as files in .claude/teams of the directory, of those above
it, and of your home.`,
		Example: `  swarm team up review          the team of .claude/teams/review.yaml
  swarm team status
  swarm team add review --name docs --type writer
  swarm team down review`,
	}
	for _, sub := range []*cobra.Command{of.status(), of.add(), of.remove(), of.down()} {
		of.session.Add(sub, cli.RunningOrNewest)
		c.AddCommand(sub)
	}
	c.AddCommand(newTeamUp(a))
	for _, sub := range c.Commands() {
		a.completeFlags(sub)
	}
	return c
}

func newTeamUp(a *app) *cobra.Command {
	flags := &runFlags{}
	var session string
	c := &cobra.Command{
		Use:   "up FILE|NAME",
		Short: "Make the team of a file",
		Long: `Up makes the members of a team file and puts its tasks on the team's list. In a
session that runs it returns at once; otherwise it starts one, or opens the one
that --session names, and returns when all members have come to rest. What is
there already stays as it is: doing it again changes nothing.`,
		ValidArgsFunction: a.completeTeamFile,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one team, or the path of its file: swarm team up FILE|NAME")
			}
			if err := flags.check(c); err != nil {
				return err
			}
			if session != "" {
				if flags.resume != "" || flags.continued || flags.sessionID != "" {
					return cli.Usagef("--session names the session already; leave out --resume, --continue and --session-id")
				}
				flags.resume = session
			}
			return a.teamUp(c.Context(), flags, args[0])
		},
	}
	flags.addCommon(c)
	c.Flags().StringVar(&session, "session", "", "the session's `id` (default: "+cli.RunningOnly+", otherwise a new one)")
	c.Flags().StringVarP(&flags.resume, "resume", "r", "", "the same as --session `id`")
	c.Flags().BoolVarP(&flags.continued, "continue", "c", false, "bring it up in the newest session of the directory")
	c.Flags().StringVar(&flags.sessionID, "session-id", "", "the `id` of the new session")
	return c
}

func (a *app) completeTeamFile(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	_, dir, err := a.Sessions().Directories(cli.FlagValue(c, "dir"))
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return swarm.TeamNames(dir, a.Getenv("HOME")), cobra.ShellCompDirectiveDefault
}

func (a *app) teamUp(ctx context.Context, flags *runFlags, name string) error {
	_, dir, err := a.Sessions().Directories(flags.dir)
	if err != nil {
		return err
	}
	f, err := swarm.LoadTeam(dir, a.Getenv("HOME"), name)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	opts, err := flags.options(a)
	if err != nil {
		return err
	}
	info, err := runningFor(&a.Console, dir, opts)
	if err != nil {
		return err
	}
	var status team.Status
	if info.ID != "" {
		return withRemote(&a.Console, info, func(r *swarm.Remote) (err error) {
			if status, err = r.TeamUp(ctx, f); err != nil {
				return err
			}
			return showUp(&a.Console, status)
		})
	}
	_, err = a.inSession(ctx, opts, flags.show, func(ctx context.Context, s *swarm.Session) error {
		up, err := s.TeamManager().Up(ctx, f)
		if err != nil {
			return err
		}
		if err := s.Quiet(ctx); err != nil {
			return err
		}
		status, err = s.Team(ctx, up.ID)
		status.New = up.New
		return err
	})
	if err != nil {
		return err
	}
	return showUp(&a.Console, status)
}

// runningFor returns the running session for the options, or none if they select a new
// one or one that does not run.
func runningFor(con *cli.Console, dir string, o swarm.Options) (swarm.Info, error) {
	if o.NewSession != "" {
		return swarm.Info{}, nil
	}
	all, err := con.Sessions().List(dir)
	if o.Session != "" {
		info, findErr := con.Sessions().Find(dir, o.Session)
		all, err = []swarm.Info{info}, findErr
	}
	if err != nil {
		return swarm.Info{}, err
	}
	switch running := con.Sessions().Running(all); len(running) {
	case 0:
		return swarm.Info{}, nil
	case 1:
		return running[0], nil
	default:
		return swarm.Info{}, cli.Usagef("%d sessions run here; name one with --session: %s", len(running), strings.Join(cli.IDs(running), ", "))
	}
}

func showUp(con *cli.Console, t team.Status) error {
	if len(t.New) > 0 {
		con.Notef("new in team %s: %s", t.Name, strings.Join(t.New, ", "))
	}
	return printTeams(con, []team.Status{t}, false)
}

// withRemote calls do with the process of a session.
func withRemote(con *cli.Console, info swarm.Info, do func(*swarm.Remote) error) error {
	r, err := con.Sessions().Dial(info)
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r)
}

// inSession opens a session in this process while do runs.
func (a *app) inSession(ctx context.Context, o swarm.Options, show showFlags, do func(context.Context, *swarm.Session) error) (swarm.Info, error) {
	ctl := cli.CatchSignals(ctx, a.exit)
	defer ctl.Release()
	s, err := swarm.Open(ctl.Session, o)
	if err != nil {
		return swarm.Info{}, a.explainRunning(o, err)
	}
	warnOfProblems(&a.Console, s)
	watch := view.Follow(context.WithoutCancel(ctx), s.Events(), a.newView(s, show, ctl.EndUnread).Handle)
	err = do(ctl.Run, s)
	closeErr := s.Close()
	<-watch
	if o.Session == "" && isUnused(s) {
		return s.Info(), errors.Join(err, closeErr, os.RemoveAll(s.Info().Path)) // there is nothing to continue
	}
	if code := ctl.ExitCode(); code != 0 {
		a.Notef("%s; go on with: swarm resume %s", ctl.Reason(), s.ID())
		return s.Info(), &cli.ExitError{Code: code}
	}
	if err == nil {
		a.Notef("session %s is kept; talk with its lead: swarm resume %s", s.ID(), s.ID())
	}
	return s.Info(), errors.Join(err, closeErr)
}

// teamOf holds the commands about a team of a session.
type teamOf struct {
	a       *app
	session cli.SessionFlags
}

func (of *teamOf) status() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "status [TEAM]", Short: "Show teams: who is in them and does what, and their tasks",
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := cli.NoMoreArgs(args, 1, "swarm team status [TEAM]"); err != nil {
				return err
			}
			info, err := of.session.Choose(&of.a.Console)
			if err != nil {
				return err
			}
			s, _, err := of.a.Sessions().Open(info)
			if err != nil {
				return err
			}
			defer s.Close()
			all, err := teamsOf(c.Context(), s, cli.Arg(args, 0))
			if err != nil {
				return err
			}
			return printTeams(&of.a.Console, all, format == "json")
		},
	}
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func (of *teamOf) add() *cobra.Command {
	var m swarm.TeamMember
	c := &cobra.Command{
		Use: "add TEAM --name NAME", Short: "Bring a member into a team",
		Example: `  swarm team add review --name docs --type writer --prompt "read the README"
  swarm team add review --agent security`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || (m.Name == "") == (m.Agent == "") {
				return cli.Usagef("name the team and the member: swarm team add TEAM --name NAME, or --agent NAME for one that is there already")
			}
			if m.Agent != "" {
				m.Name = m.Agent
			}
			return of.do(c.Context(),
				func(ctx context.Context, r *swarm.Remote) error { return of.added(r.TeamAdd(ctx, args[0], m)) },
				func(ctx context.Context, s *swarm.Session) error {
					return of.added(s.TeamManager().Add(ctx, args[0], m))
				})
		},
	}
	fs := c.Flags()
	fs.StringVar(&m.Name, "name", "", "the `name` of the new member")
	fs.StringVar(&m.Agent, "agent", "", "an `agent` of the session that joins")
	fs.StringVar(&m.Type, "type", "", "the agent `type` (default: general-purpose)")
	fs.StringVar(&m.Prompt, "prompt", "", "its first `task` (default: it waits for a message)")
	fs.StringVar(&m.Model, "model", "", "the `model`, if not its type's")
	fs.StringVar(&m.Mode, "permission-mode", "", "a narrower `mode` than the lead's")
	fs.BoolVar(&m.Worktree, "worktree", false, "give it a git worktree of its own")
	return c
}

func (of *teamOf) added(t team.Status, err error) error {
	if err != nil {
		return err
	}
	return showUp(&of.a.Console, t)
}

func (of *teamOf) remove() *cobra.Command {
	return &cobra.Command{
		Use: "remove TEAM MEMBER", Short: "Take a member out of a team and end it",
		Long: `Remove takes a member out of a team. It is ended for good, with the team that it
leads, unless it is in another team too. What it had taken of the team's list is
offered again.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usagef("name the team and the member: swarm team remove TEAM MEMBER")
			}
			return of.do(c.Context(),
				func(ctx context.Context, r *swarm.Remote) error {
					return of.removed(args, r.TeamRemove(ctx, args[0], args[1]))
				},
				func(ctx context.Context, s *swarm.Session) error {
					return of.removed(args, s.TeamManager().Remove(ctx, args[0], args[1]))
				})
		},
	}
}

func (of *teamOf) down() *cobra.Command {
	return &cobra.Command{
		Use: "down TEAM", Short: "End all members of a team; the session stays",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name the team: swarm team down TEAM")
			}
			return of.do(c.Context(),
				func(ctx context.Context, r *swarm.Remote) error { return of.removed(args, r.TeamDown(ctx, args[0])) },
				func(ctx context.Context, s *swarm.Session) error {
					return of.removed(args, s.TeamManager().Down(ctx, args[0]))
				})
		},
	}
}

// removed prints that a team has lost a member, or all members.
func (of *teamOf) removed(args []string, err error) error {
	if err != nil {
		return err
	}
	if len(args) == 1 {
		of.a.Notef("team %s is down", args[0])
		return nil
	}
	of.a.Notef("%s is out of team %s", args[1], args[0])
	return nil
}

// do changes the team in the process of the session, or else in this one.
func (of *teamOf) do(ctx context.Context, remote func(context.Context, *swarm.Remote) error, here func(context.Context, *swarm.Session) error) error {
	info, err := of.session.Choose(&of.a.Console)
	if err != nil {
		return err
	}
	err = withRemote(&of.a.Console, info, func(r *swarm.Remote) error { return remote(ctx, r) })
	if !cli.NotRunning(err) {
		return err
	}
	_, err = of.a.inSession(ctx, swarm.Options{Dir: info.Dir, Session: info.ID, Getenv: of.a.Getenv}, showFlags{format: "text"}, here)
	return err
}

func printTeams(con *cli.Console, all []team.Status, asJSON bool) error {
	rows := make([]view.TeamRow, len(all))
	for i, t := range all {
		rows[i] = view.NewTeamRow(t)
	}
	if asJSON {
		return con.PrintJSON(rows)
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(view.Team(con.Screen(), r, time.Now()))
	}
	return con.Print(b.String())
}

// teamsOf returns the team with a name, or all teams of a session.
func teamsOf(ctx context.Context, s cli.Session, name string) ([]team.Status, error) {
	names := []string{name}
	if name == "" {
		teams, err := s.Teams(ctx)
		if err != nil {
			return nil, err
		}
		names = names[:0]
		for _, t := range teams {
			names = append(names, t.ID)
		}
	}
	var all []team.Status
	for _, name := range names {
		t, err := s.Team(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
