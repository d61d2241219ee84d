// Package natsdtest runs real nats-server processes on loopback for tests. A test is
// skipped, with the reason, if there is no nats-server in the PATH.
//
//	servers := natsdtest.Cluster(t, 3, natsdtest.Options{})
//	nc := servers[0].Conn(t)
//	servers[1].Kill()
//	servers[1].Restart()
//
// Embedded starts the server that a session embeds, which every machine has.
package natsdtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// patience is how long a server may take to answer, in a cluster with elections.
const patience = 60 * time.Second

// Server is one process. Kill and Start may be called again and again, one at a
// time.
type Server struct {
	URL string

	t      testing.TB
	config string
	log    bytes.Buffer
	cmd    *exec.Cmd
}

// Options adjust servers.
type Options struct {
	// Config is more of nats-server's configuration, for each server.
	Config string
}

// Require skips the test if there is no nats-server to run. A test all of whose
// subtests need one calls it first: a test passes if its subtests are skipped.
func Require(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("nats-server"); err != nil {
		t.Skipf("%s needs a nats-server in the PATH, so nothing was checked: %v", t.Name(), err)
	}
}

// Start runs one server with JetStream.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	return Cluster(t, 1, o)[0]
}

// Cluster runs n servers that are one. It returns when JetStream answers.
func Cluster(t testing.TB, n int, o Options) []*Server {
	t.Helper()
	Require(t)
	ports := free(t, 2*n)
	var routes []string
	for i := range n {
		routes = append(routes, "nats://127.0.0.1:"+ports[n+i])
	}
	servers := make([]*Server, n)
	for i := range servers {
		dir := t.TempDir()
		s := &Server{t: t, URL: "nats://127.0.0.1:" + ports[i], config: filepath.Join(dir, "server.conf")}
		text := fmt.Sprintf("server_name: n%d\nlisten: 127.0.0.1:%s\njetstream { store_dir: %q, max_mem: 64M, max_file: 1G }\n%s\n",
			i, ports[i], filepath.Join(dir, "store"), o.Config)
		if n > 1 {
			text += fmt.Sprintf("cluster { name: c, listen: 127.0.0.1:%s, routes: [%s] }\n", ports[n+i], strings.Join(routes, ", "))
		}
		if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.launch()
		t.Cleanup(s.end)
		servers[i] = s
	}
	for _, s := range servers {
		s.await(func(ctx context.Context) error { return s.answers(ctx, o) })
	}
	if n > 1 { // a leader may not know yet that the others are there
		servers[0].await(func(ctx context.Context) error { return servers[0].replicates(ctx, n) })
	}
	return servers
}

// free returns ports that nobody listens on now.
func free(t testing.TB, n int) []string {
	t.Helper()
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	return ports
}

func (s *Server) launch() {
	s.t.Helper()
	s.cmd = exec.Command("nats-server", "-c", s.config)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// await returns when ready returns nil.
func (s *Server) await(ready func(context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	err := ready(ctx)
	for ; err != nil; err = ready(ctx) {
		select {
		case <-ctx.Done():
			s.t.Fatalf("nats-server on %s does not answer: %v", s.URL, err)
		case <-tick.C:
		}
	}
}

// replicates reports why a stream cannot have n copies.
func (s *Server) replicates(ctx context.Context, n int) error {
	nc, err := nats.Connect(s.URL)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "PROBE", Replicas: n}); err != nil {
		return err
	}
	return js.DeleteStream(ctx, "PROBE")
}

// answers reports why JetStream does not answer. Where the configuration asks for
// keys the port must do.
func (s *Server) answers(ctx context.Context, o Options) error {
	if strings.Contains(o.Config, "authorization") {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "nats://"))
		if err != nil {
			return err
		}
		return c.Close()
	}
	nc, err := nats.Connect(s.URL)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = js.AccountInfo(ctx)
	return err
}

// Kill ends the process as kill -9 does.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		s.t.Fatal(err)
	}
	s.cmd = nil
}

// Restart runs a killed server again, on the same port and store. It does not
// wait until the server answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.launch()
}

func (s *Server) end() {
	if s.cmd != nil {
		s.Kill()
	}
	if s.t.Failed() {
		s.t.Logf("log of nats-server on %s:\n%s", s.URL, s.log.String())
	}
}
