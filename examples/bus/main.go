// Command bus is a durable message bus between processes, in one file: it shows
// the mailbox without any agents.
//
//	bus serve -dir /tmp/b -socket /tmp/run/bus -agent bob -out bob.txt
//	bus post  -dir /tmp/a -socket /tmp/run/bus -from ann -to bob < lines.txt
//
// Each line is accepted once it is on the poster's disk, and appears in bob.txt
// once and in order, whichever process is killed when. A poster may end before its
// lines are delivered; the next one in the same directory sends them.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/natsbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bus:", err)
		os.Exit(1)
	}
}

type options struct {
	dir, socket, agent, to, out string
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	usage := errors.New("say what to do: bus serve or bus post, with -h for the flags")
	if len(args) == 0 {
		return usage
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", "", "directory of this process's journal")
	flags.StringVar(&o.socket, "socket", "", "socket of the server")
	switch args[0] {
	case "serve":
		flags.StringVar(&o.agent, "agent", "", "who receives")
		flags.StringVar(&o.out, "out", "", "file for what is received")
	case "post":
		flags.StringVar(&o.agent, "from", "", "who sends")
		flags.StringVar(&o.to, "to", "", "who is to receive")
	default:
		return usage
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "serve" {
		return serve(ctx, o, out)
	}
	return post(ctx, o, in, out)
}

func trouble(err error) { fmt.Fprintln(os.Stderr, "bus:", err) }

// serve owns the server and receives for one agent until ctx ends.
func serve(ctx context.Context, o options, out io.Writer) (err error) {
	file, last, err := openLog(o.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	bus, err := natsbox.Open(ctx, natsbox.OpenOptions{Dir: o.dir, Space: "example", Listen: "unix:" + o.socket, OnError: trouble})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	receive := func(e mailbox.Envelope) error {
		// A crash between the line and its receipt brings one message again.
		if e.ID == last {
			return nil
		}
		_, err := fmt.Fprintf(file, "%s %s\n", e.ID, e.Body)
		return err
	}
	if err := bus.Register(mailbox.AgentID(o.agent), receive); err != nil {
		return err
	}
	fmt.Fprintln(out, "serving")
	<-ctx.Done()
	return nil
}

// openLog opens the file for appending and returns the id of its last line.
func openLog(path string) (*os.File, mailbox.ID, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, "", err
	}
	var last mailbox.ID
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 2*mailbox.MaxBody)
	for lines.Scan() {
		id, _, _ := strings.Cut(lines.Text(), " ")
		last = mailbox.ID(id)
	}
	if err := lines.Err(); err != nil {
		return nil, "", errors.Join(err, file.Close())
	}
	return file, last, nil
}

// post sends the lines of in, prints each that is accepted, and waits until
// all of them are read.
func post(ctx context.Context, o options, in io.Reader, out io.Writer) (err error) {
	bus, err := natsbox.Open(ctx, natsbox.OpenOptions{Dir: o.dir, Space: "example", URL: "unix:" + o.socket, OnError: trouble})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	var last mailbox.ID
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 2*mailbox.MaxBody)
	for lines.Scan() {
		if last, err = postOne(ctx, bus, o, lines.Text()); err != nil {
			return err
		}
		fmt.Fprintln(out, "accepted", lines.Text())
	}
	return errors.Join(lines.Err(), await(ctx, bus, last))
}

// postOne waits while the receiver's mailbox is full.
func postOne(ctx context.Context, bus *natsbox.Bus, o options, body string) (mailbox.ID, error) {
	for {
		id, err := bus.Post(ctx, mailbox.AgentID(o.agent), mailbox.AgentID(o.to), body)
		if full := (*mailbox.FullError)(nil); !errors.As(err, &full) {
			return id, err
		}
		if err := pause(ctx); err != nil {
			return "", err
		}
	}
}

func await(ctx context.Context, bus *natsbox.Bus, id mailbox.ID) error {
	for {
		if s, known := bus.State(id); !known || s.State == mailbox.StateRead || s.State.Final() {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(10 * time.Millisecond):
		return nil
	}
}
