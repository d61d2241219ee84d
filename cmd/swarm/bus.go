package main

import (
	"fmt"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/spf13/cobra"
)

func newBus(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "bus",
		Short: "Let programs outside take part in a session",
		Long: `The message bus of a session is NATS. A program that speaks it, such as a shell
script with the nats command, can be a member of the session: agents write to it
by name, it writes to them, and it works on the shared task list. Start the
session with --listen 127.0.0.1:4222, and give the program a name and a key with
swarm bus user add NAME, which prints the commands too. A program that speaks
MCP needs neither: see swarm mcp.`,
		Example: `  swarm serve --detach --listen 127.0.0.1:4222 "review what bob finds"
  swarm bus user add bob
  swarm bus user remove bob`,
	}
	user := &cobra.Command{
		Use:   "user",
		Short: "Say who may use the message bus of a session",
		Long: `A user of the bus is a program of yours that speaks NATS: a member of the
session with a name and a mailbox, to which agents write like to each other. It
can speak as itself alone and read its own mail alone. Nothing listens before
swarm run is given --listen.`,
	}
	user.AddCommand(newBusAdd(a), newBusList(a), newBusRemove(a))
	c.AddCommand(user)
	return c
}

func newBusAdd(a *app) *cobra.Command {
	var f cli.SessionFlags
	var format string
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Let a program in, and print its credentials once",
		Long: `Add makes a program a member of the session and prints its secret key, which is
kept nowhere and cannot be shown again, with the commands to send, read and
claim. A name that is a user already gets a new key, and the old one opens
nothing more.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			info, name, err := sessionAndUser(&a.Console, &f, args, "add")
			if err != nil {
				return err
			}
			s, running, err := a.Sessions().Open(info)
			if err != nil {
				return err
			}
			defer s.Close()
			made, err := s.AddBusUser(c.Context(), name)
			if err != nil {
				return err
			}
			if !running {
				a.Notef("session %s does not run now; its bus answers while it does, as by: swarm serve --detach --resume %s", info.ID, info.ID)
			}
			if format == "json" {
				return a.PrintJSON(made)
			}
			if info.NATS.URL != "" {
				a.Notef("put this among the users of the NATS server, which alone keeps them apart: { nkey: %s, permissions: { publish: %q, subscribe: [%q, %q] } }",
					made.Key, made.Subject("*"), made.Inbox()+".>", made.Mail())
			}
			return printCredentials(&a.Console, info, made)
		},
	}
	f.Add(c, cli.RunningOrNewest)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

// sessionAndUser returns the session and the user of a command.
func sessionAndUser(con *cli.Console, f *cli.SessionFlags, args []string, verb string) (swarm.Info, string, error) {
	if len(args) != 1 {
		return swarm.Info{}, "", cli.Usagef("name one user: swarm bus user %s NAME", verb)
	}
	info, err := f.Choose(con)
	return info, args[0], err
}

// printCredentials prints the key and commands to use it.
func printCredentials(con *cli.Console, info swarm.Info, c swarm.BusCredentials) error {
	file, ca := c.Name+".nk", ""
	if c.CA != "" {
		ca = " --tlsca " + shellWord(c.CA)
	}
	if c.Untrusted {
		con.Notef("nothing on this machine vouches for the certificate of session %s: add --tlsca FILE to each command, with the certificate of its authority", c.Session)
	}
	nats := fmt.Sprintf("nats --server %s%s --nkey %s --inbox-prefix %s req ", busServer(con, info, c), ca, file, c.Inbox())
	var b strings.Builder
	fmt.Fprintf(&b, "Put this key into %s, readable by you alone; it is not shown again:\n\n%s\n\n", file, c.Seed)
	fmt.Fprintf(&b, "send    %s%s '{\"to\":\"lead\",\"text\":\"hello\"}'\n", nats, c.Subject("send"))
	fmt.Fprintf(&b, "read    %s%s '{}'\n", nats, c.Subject("read"))
	fmt.Fprintf(&b, "claim   %s%s '{\"task\":\"1\"}'\n", nats, c.Subject("claim"))
	return con.Print(b.String())
}

// busServer returns the address for commands, or a placeholder until it is known.
func busServer(con *cli.Console, info swarm.Info, c swarm.BusCredentials) string {
	switch {
	case c.URL != "":
		return c.URL
	case c.WebSocket != "":
		return c.WebSocket
	case info.TakesAnyPort():
		con.Notef("session %s listens on a free port, which is known when it runs: put what swarm bus user list --session %s says then in the place of URL", c.Session, c.Session)
		return "URL"
	}
	con.Notef("session %s does not listen; start it with --listen 127.0.0.1:4222", c.Session)
	return "nats://127.0.0.1:4222"
}

func newBusList(a *app) *cobra.Command {
	var f cli.SessionFlags
	var format string
	c := &cobra.Command{
		Use:   "list",
		Short: "Show who may use the bus",
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := cli.NoMoreArgs(args, 0, "swarm bus user list"); err != nil {
				return err
			}
			info, err := f.Choose(&a.Console)
			if err != nil {
				return err
			}
			s, _, err := a.Sessions().Open(info)
			if err != nil {
				return err
			}
			defer s.Close()
			bus, err := s.Bus(c.Context())
			if err != nil {
				return err
			}
			if format == "json" {
				return a.PrintJSON(append([]swarm.BusUser{}, bus.Users...))
			}
			return printBusUsers(&a.Console, info, bus)
		},
	}
	f.Add(c, cli.RunningOrNewest)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func printBusUsers(con *cli.Console, info swarm.Info, bus swarm.BusState) error {
	for _, url := range []string{bus.URL, bus.WebSocket} {
		if url != "" {
			con.Notef("the bus of session %s is at %s", info.ID, url)
		}
	}
	users := bus.Users
	if len(users) == 0 {
		con.Notef("the bus of session %s has no users; add one: swarm bus user add NAME", info.ID)
		return nil
	}
	var b strings.Builder
	for _, u := range users {
		fmt.Fprintf(&b, "%-16s %s  since %s\n", term.Clean(u.Name), term.Clean(u.Key), u.Added.Local().Format("2006-01-02 15:04"))
	}
	return con.Print(b.String())
}

func newBusRemove(a *app) *cobra.Command {
	var f cli.SessionFlags
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "Shut a program out, at once",
		RunE: func(c *cobra.Command, args []string) error {
			info, name, err := sessionAndUser(&a.Console, &f, args, "remove")
			if err != nil {
				return err
			}
			s, _, err := a.Sessions().Open(info)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := s.RemoveBusUser(c.Context(), name); err != nil {
				return err
			}
			return a.Print(fmt.Sprintf("%s may not use the bus any more\n", term.Clean(name)))
		},
	}
	f.Add(c, cli.RunningOrNewest)
	return c
}

// shellWord quotes a word for a shell if it needs that.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
