package natsd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
)

func start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.StoreDir == "" {
		o.StoreDir = t.TempDir()
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

func conn(t testing.TB, s *Server) *nats.Conn {
	t.Helper()
	nc, err := s.Conn("test")
	if err != nil {
		t.Fatal(err)
	}
	return nc
}

func stream(t testing.TB, nc *nats.Conn) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	st, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
	if err != nil {
		t.Fatal(err)
	}
	return js, st
}

func TestNoListenerUnlessAsked(t *testing.T) {
	s := start(t, Options{})
	if url := s.ClientURL(); url != "" {
		t.Errorf("ClientURL = %q without Listen", url)
	}
	if s.srv.MonitorAddr() != nil || s.srv.Addr() != nil {
		t.Error("something listens")
	}
	if err := conn(t, s).Flush(); err != nil {
		t.Errorf("in process: %v", err)
	}
	heard := start(t, Options{Listen: "127.0.0.1:0"})
	socket, err := net.Dial("tcp", strings.TrimPrefix(heard.ClientURL(), "nats://"))
	if err != nil {
		t.Fatalf("connect to %q: %v", heard.ClientURL(), err)
	}
	if err := socket.Close(); err != nil {
		t.Error(err)
	}
	if heard.WebSocketURL() != "" {
		t.Errorf("WebSocketURL = %q without WebSocket", heard.WebSocketURL())
	}
	if _, err := Start(t.Context(), Options{StoreDir: t.TempDir(), Listen: "nonsense"}); err == nil {
		t.Error("listening on nonsense was accepted")
	}
}

func TestPortTakenIsAnErrorAndNotAnExit(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := Start(t.Context(), Options{StoreDir: t.TempDir(), Listen: taken.Addr().String()}); err == nil {
		t.Error("started on a port in use")
	}
}

// What is synced shows in no file; the server's word for it must do.
func TestChangesAreSyncedEveryFiveSeconds(t *testing.T) {
	if c := start(t, Options{}).srv.JetStreamConfig(); c.SyncInterval != 5*time.Second || c.SyncAlways {
		t.Errorf("it syncs every %v (always: %v)", c.SyncInterval, c.SyncAlways)
	}
}

func TestStoredSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Options{StoreDir: dir})
	js, _ := stream(t, conn(t, s))
	if _, err := js.Publish(t.Context(), "s.a", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	_, st := stream(t, conn(t, start(t, Options{StoreDir: dir})))
	m, err := st.GetLastMsgForSubject(t.Context(), "s.a")
	if err != nil || string(m.Data) != "hello" {
		t.Errorf("after the restart: %v, %v", m, err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 != 0 && !strings.HasPrefix(dir, os.TempDir()) {
		t.Errorf("store directory: %v, %v", info, err)
	}
}

func TestNearlyFullDiskIsReported(t *testing.T) {
	_, err := Start(t.Context(), Options{StoreDir: t.TempDir(), MinFree: 1 << 60})
	if err == nil || !strings.Contains(err.Error(), "free") {
		t.Errorf("Start = %v, want an error about the disk", err)
	}
	_, err = Start(t.Context(), Options{StoreDir: "relative"})
	if err == nil {
		t.Error("a relative store directory was accepted")
	}
}

func TestStartRefusesAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no longer wanted")
	cancel(cause)
	if _, err := Start(ctx, Options{StoreDir: t.TempDir()}); !errors.Is(err, cause) {
		t.Errorf("Start = %v, want %v", err, cause)
	}
}

func socketPath(t *testing.T) string {
	// t.TempDir is too long for a socket under some test names.
	dir, err := os.MkdirTemp("", "natsd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "run", "nats.sock")
}

func TestUnixSocketIsOnlyForItsUser(t *testing.T) {
	s, path := start(t, Options{}), socketPath(t)
	if err := s.ServeUnix(path); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %#o", file, info.Mode(), err, want)
		}
	}
	nc, err := DialUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, _ := stream(t, nc)
	if _, err := js.Publish(t.Context(), "s.a", []byte("through the socket")); err != nil {
		t.Errorf("publish: %v", err)
	}
	open := filepath.Join(filepath.Dir(filepath.Dir(path)), "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.ServeUnix(filepath.Join(open, "nats.sock")); err == nil {
		t.Error("served in a directory that others may enter")
	}
	link := filepath.Join(filepath.Dir(filepath.Dir(path)), "link")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		t.Fatal(err)
	}
	if err := s.ServeUnix(filepath.Join(link, "other.sock")); err == nil {
		t.Error("served in a directory that whoever has the link may exchange")
	}
	if os.Getuid() == 0 {
		theirs := filepath.Join(filepath.Dir(filepath.Dir(path)), "theirs")
		if err := errors.Join(os.Mkdir(theirs, 0o700), os.Chown(theirs, 1234, 1234)); err != nil {
			t.Fatal(err)
		}
		if err := s.ServeUnix(filepath.Join(theirs, "nats.sock")); err == nil {
			t.Error("served in another user's directory")
		}
	}
	if err := s.ServeUnix("/" + strings.Repeat("x", 200)); err == nil {
		t.Error("a path too long for a socket was accepted")
	}
}

// Root may become another user in a child, others cannot: the child listens where a
// socket is looked for, as anybody may below /tmp.
func TestAnotherUsersSocketIsNotDialed(t *testing.T) {
	if path := os.Getenv("NATSD_TEST_LISTEN"); path != "" {
		if _, err := net.Listen("unix", path); err != nil {
			t.Fatal(err)
		}
		fmt.Println("listening")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent lets go
		return
	}
	if os.Getuid() != 0 {
		t.Skip("needs root to start a child as another user")
	}
	path := socketPath(t)
	dir := filepath.Dir(path)
	if err := errors.Join(os.MkdirAll(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := another(t, dir, 1234, "TestAnotherUsersSocketIsNotDialed", "NATSD_TEST_LISTEN="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := DialUnix(path); err == nil || !strings.Contains(err.Error(), "user id 1234") {
		t.Errorf("dialed: %v", err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

// another is a child that runs one test as another user.
func another(t *testing.T, dir string, uid uint32, test, env string) *exec.Cmd {
	t.Helper()
	exe := filepath.Join(dir, "child")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+test+"$")
	cmd.Env, cmd.Dir = append(os.Environ(), env), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

// Root may become another user in a child, others cannot: the child dials and
// must be turned away although the directory lets it in.
func TestUnixSocketTurnsAnotherUserAway(t *testing.T) {
	if path := os.Getenv("NATSD_TEST_DIAL"); path != "" {
		conn, err := net.Dial("unix", path) // not DialUnix, which would go itself
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := conn.Read(make([]byte, 1)); n > 0 {
			t.Fatal("let in")
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("needs root to start a child as another user")
	}
	s, path := start(t, Options{}), socketPath(t)
	if err := s.ServeUnix(path); err != nil {
		t.Fatal(err)
	}
	for file, mode := range map[string]os.FileMode{filepath.Dir(filepath.Dir(path)): 0o755, filepath.Dir(path): 0o755, path: 0o666} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	dial := func(uid uint32) error {
		out, err := another(t, filepath.Dir(path), uid, "TestUnixSocketTurnsAnotherUserAway", "NATSD_TEST_DIAL="+path).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "let in") {
			t.Fatalf("child as %d: %v\n%s", uid, err, out)
		}
		return err
	}
	if err := dial(0); err == nil {
		t.Error("a child of the same user was not let in")
	}
	if err := dial(65534); err != nil {
		t.Error("a child of another user was let in")
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := socketPath(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false) // as a killed process leaves it
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	if err := start(t, Options{}).ServeUnix(path); err != nil {
		t.Fatal(err)
	}
	nc, err := DialUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestSecondServerIsRefused(t *testing.T) {
	path := socketPath(t)
	first := start(t, Options{})
	if err := first.ServeUnix(path); err != nil {
		t.Fatal(err)
	}
	second := start(t, Options{})
	var inUse *InUseError
	if err := second.ServeUnix(path); !errors.As(err, &inUse) || inUse.Path != path {
		t.Fatalf("second ServeUnix = %v, want *InUseError", err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := second.ServeUnix(path); err != nil {
		t.Errorf("after the first stopped: %v", err)
	}
	file := filepath.Join(filepath.Dir(path), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := second.ServeUnix(file); err == nil {
		t.Error("an ordinary file was replaced by a socket")
	}
}

func TestDialedConnectionComesBackWithTheServer(t *testing.T) {
	path, dir := socketPath(t), t.TempDir()
	first := start(t, Options{StoreDir: dir})
	if err := first.ServeUnix(path); err != nil {
		t.Fatal(err)
	}
	nc, err := DialUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	back := make(chan struct{}, 10)
	nc.SetReconnectHandler(func(*nats.Conn) { back <- struct{}{} })
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := start(t, Options{StoreDir: dir}).ServeUnix(path); err != nil {
		t.Fatal(err)
	}
	select {
	case <-back:
	case <-time.After(10 * time.Second):
		t.Error("the connection did not come back")
	}
}

func TestStopEndsEverything(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s, err := Start(t.Context(), Options{StoreDir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	path := socketPath(t)
	if err := s.ServeUnix(path); err != nil {
		t.Fatal(err)
	}
	inside := conn(t, s)
	outside, err := DialUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	stream(t, outside)
	done := make(chan error)
	for range 3 {
		go func() { done <- s.Stop() }()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	outside.Close()
	if !inside.IsClosed() {
		t.Error("a connection of the stopped server is open")
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := s.Conn("late"); !errors.Is(err, ErrStopped) {
		t.Errorf("Conn after stop: %v", err)
	}
	if err := s.ServeUnix(path); !errors.Is(err, ErrStopped) {
		t.Errorf("ServeUnix after stop: %v", err)
	}
	if err := s.Ready(); err == nil {
		t.Error("a stopped server is ready")
	}
	goleak.VerifyNone(t, before)
}

// BenchmarkStartToFirstAck is a server on an empty store up to its first
// JetStream acknowledgement.
func BenchmarkStartToFirstAck(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		b.StartTimer()
		s, err := Start(b.Context(), Options{StoreDir: dir})
		if err != nil {
			b.Fatal(err)
		}
		js, _ := stream(b, conn(b, s))
		if _, err := js.Publish(b.Context(), "s.a", nil); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Stop(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// The lock's file goes with its holder, and whoever takes the lock meanwhile is
// still the only one.
func TestTheLockOfASocketHasOneHolderAndLeavesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nats.sock")
	var holders, turns atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				lock, err := lockSocket(path)
				if errors.As(err, new(*InUseError)) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				turns.Add(1)
				holders.Add(-1)
				if err := unlockSocket(lock); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 0 || turns.Load() == 0 {
		t.Errorf("%d turns left %v (%v)", turns.Load(), left, err)
	}
}
