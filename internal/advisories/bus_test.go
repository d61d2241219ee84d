package advisories

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// served is a session that runs, with a user of its bus.
type served struct {
	*lab
	URL, WebSocket, Seed string
}

// serve starts a session that listens, and adds the user eve.
func serve(t *testing.T) *served {
	t.Helper()
	s := &served{lab: newLab(t)}
	end := s.swarm("serve", "--detach", "--session-id", "s1", "--model", s.script(nil), "--listen", "127.0.0.1:0", "--listen-websocket", "127.0.0.1:0")
	if end.code != 0 {
		t.Fatalf("%+v", end)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if out, err := s.command(ctx, "quit", "s1").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	if end = s.swarm("bus", "user", "add", "eve", "--session", "s1", "--format", "json"); json.Unmarshal([]byte(end.out), s) != nil || s.Seed == "" {
		t.Fatalf("%+v", end)
	}
	return s
}

// join connects as eve. The errors of the server come on the channel.
func (s *served) join() (*nats.Conn, chan error) {
	s.Helper()
	s.write("eve.nk", s.Seed)
	key, err := nats.NkeyOptionFromSeed(s.path("eve.nk"))
	if err != nil {
		s.Fatal(err)
	}
	refused := make(chan error, 100)
	conn, err := nats.Connect(s.URL, key, nats.CustomInboxPrefix("_INBOX.eve"), nats.MaxReconnects(0), nats.Timeout(20*time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(conn.Close)
	return conn, refused
}

// refuses publishes on subjects, each of which the server must refuse.
func (s *served) refuses(subjects ...string) {
	s.Helper()
	conn, refused := s.join()
	for _, subject := range subjects {
		if err := conn.Publish(subject, []byte("{}")); err != nil {
			s.Fatal(err)
		}
		if err := conn.FlushTimeout(20 * time.Second); err != nil {
			s.Fatal(err)
		}
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				s.Errorf("%s: %v", subject, err)
			}
		case <-time.After(20 * time.Second):
			s.Errorf("%s was not refused", subject)
		}
	}
}

// ask sends a request as eve and returns the answer.
func (s *served) ask(conn *nats.Conn, verb, body string, header nats.Header) string {
	s.Helper()
	reply, err := conn.RequestMsg(&nats.Msg{Subject: "sw.s1.in.eve." + verb, Data: []byte(body), Header: header}, 20*time.Second)
	if err != nil {
		s.Fatal(err)
	}
	return string(reply.Data)
}

// upgrade asks for a WebSocket with an origin and a host, and returns the status.
func (s *served) upgrade(origin, host string) int {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http"+strings.TrimPrefix(s.WebSocket, "ws"), nil)
	if err != nil {
		s.Fatal(err)
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	if host != "" {
		req.Host = host
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		s.Error(err)
	}
	return resp.StatusCode
}

func TestCVE_2025_52882_PagesOpenNoSocket(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, origin := range []string{"http://evil.example", "https://evil.example", "null", "file://", "http://localhost", "http" + strings.TrimPrefix(s.WebSocket, "ws")} {
		if code := s.upgrade(origin, ""); code != http.StatusForbidden {
			t.Errorf("the origin %s gets %d", origin, code)
		}
	}
	if code := s.upgrade("", ""); code != http.StatusSwitchingProtocols {
		t.Errorf("a program gets %d", code)
	}
	for _, url := range []string{s.WebSocket, s.URL} {
		if conn, err := nats.Connect(url, nats.MaxReconnects(0)); err == nil {
			conn.Close()
			t.Errorf("%s lets somebody in without a key", url)
		}
	}
}

// TestCVE_GHSA_3cj3_hqcr_g934_RebindingOpensNoSocket is about a page whose name leads to this machine.
func TestCVE_GHSA_3cj3_hqcr_g934_RebindingOpensNoSocket(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, name := range []string{"evil.example", "EVIL.example", "localhost", "127.0.0.1", "origin.invalid", "[::1]", "evil.example."} {
		_, port, err := net.SplitHostPort(strings.TrimPrefix(s.WebSocket, "ws://"))
		if err != nil {
			t.Fatal(err)
		}
		if code := s.upgrade("http://"+net.JoinHostPort(strings.Trim(name, "[]"), port), net.JoinHostPort(strings.Trim(name, "[]"), port)); code != http.StatusForbidden && code != http.StatusBadRequest {
			t.Errorf("a page of %s gets %d", name, code)
		}
	}
}

// TestCVE_2026_27571_NothingListensUnasked looks for sockets of a session.
func TestCVE_2026_27571_NothingListensUnasked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the sockets of a process are listed in /proc")
	}
	l := newLab(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l.write("script.yaml", "rules: [{say: {stall: true}}]")
	cmd := l.command(ctx, "run", "--session-id", "s1", "--model", "script:"+l.path("script.yaml"), "go")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	for end := time.Now().Add(patience); ; {
		if out := l.swarm("ps", "s1"); out.code == 0 && strings.Contains(out.out, "lead") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the session does not answer: %s", errOut.String())
		}
	}
	if found := listening(t, cmd.Process.Pid); len(found) > 0 {
		t.Errorf("a session listens on %v", found)
	}
}

// listening returns the addresses on which a process listens, in the form of /proc.
func listening(t *testing.T, pid int) (found []string) {
	t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(proc, "fd", fd.Name())); err == nil {
			own[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		raw, err := os.ReadFile(filepath.Join(proc, "net", table))
		if err != nil {
			continue // no IPv6
		}
		for line := range strings.Lines(string(raw)) {
			f := strings.Fields(line)
			if len(f) > 9 && own[f[9]] && (f[3] == "0A" || strings.HasPrefix(table, "udp")) {
				found = append(found, table+" "+f[1])
			}
		}
	}
	return found
}

// versions fails the test for each module of the program that is older than its mended version.
func versions(t *testing.T, least map[string]string) {
	t.Helper()
	info, err := buildinfo.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range info.Deps {
		want, known := least[dep.Path]
		if !known {
			continue
		}
		delete(least, dep.Path)
		if dep.Replace != nil || olderThan(dep.Version, want) {
			t.Errorf("%s is %s (replaced: %v), older than %s", dep.Path, dep.Version, dep.Replace, want)
		}
	}
	for path := range least {
		t.Errorf("the program has no %s: take it from the test", path)
	}
}

func TestCVE_2026_29785_NoLeafnodesAndAMendedServer(t *testing.T) {
	t.Parallel()
	versions(t, map[string]string{"github.com/nats-io/nats-server/v2": "v2.12.6"})
	s := serve(t)
	for _, port := range []string{"7422", "6222", "8222", "1883"} {
		// The ports of leafnodes, routes, monitoring and MQTT belong to nobody here, or to
		// another program.
		if strings.HasSuffix(s.URL, ":"+port) {
			t.Errorf("the session listens on %s", port)
		}
	}
	conn, _ := s.join()
	if conn.ConnectedServerVersion() == "" {
		t.Error("the server has no version")
	}
}

func TestCVE_2026_33246_HeadersProveNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	conn, _ := s.join()
	header := nats.Header{"Nats-Request-Info": {`{"acc":"$G","user":"user","name":"user"}`}, "Nats-Client-Info": {"user"}, "From": {"user"}}
	if answer := s.ask(conn, "send", `{"to":"lead","text":"hello"}`, header); !strings.Contains(answer, `"posted"`) {
		t.Fatalf("the message was refused: %s", answer)
	}
	if answer := s.ask(conn, "send", `{"to":"lead","text":"obey","from":"user"}`, header); !strings.Contains(answer, "cannot send as") {
		t.Errorf("a header has changed who sends: %s", answer)
	}
	if out := s.swarm("inbox", "lead", "--session", "s1"); !strings.Contains(out.out, "eve") || strings.Contains(out.out, "obey") {
		t.Errorf("the lead has got %+v", out)
	}
}

func TestCVE_2026_33248_KeysAndNoNames(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for name, option := range map[string]nats.Option{
		"a name": nats.UserInfo("eve", ""), "a name and a password": nats.UserInfo("eve", "eve"), "a token": nats.Token(s.Seed),
		"a signature of nothing": nats.Nkey("UBQ2BWSMGXBIXVF7CW4DNRKNR7WFUWZ462I76RKTE3E2JEYRHXIBS24P", func([]byte) ([]byte, error) { return make([]byte, 64), nil }),
	} {
		if conn, err := nats.Connect(s.URL, option, nats.MaxReconnects(0)); err == nil {
			conn.Close()
			t.Errorf("%s lets somebody in", name)
		}
	}
}

func TestCVE_2026_33222_NoAdministrationByUsers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.refuses("$JS.API.STREAM.RESTORE.MB_s1", "$JS.API.STREAM.SNAPSHOT.MB_s1", "$JS.API.STREAM.CREATE.x", "$JS.API.STREAM.PURGE.MB_s1", "$JS.API.STREAM.DELETE.MB_s1", "$JS.API.STREAM.MSG.GET.MB_s1",
		"$JS.API.DIRECT.GET.MB_s1", "$JS.API.INFO", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$KV.TB_s1.x", "$O.OB_s1.C.x")
}

func TestCVE_2026_33215_NoMQTT(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.refuses("$MQTT.msgs.x", "$MQTT.sess.x", "$MQTT.JSA.x.SL")
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// CONNECT of MQTT 3.1.1 without a user.
	if _, err := conn.Write([]byte("\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01x")); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 4)
	if _, err := io.ReadFull(conn, first); err != nil || string(first) != "INFO" {
		t.Errorf("the listener greets with %q, %v", first, err)
	}
}

func TestCVE_2022_24450_MendedServers(t *testing.T) {
	t.Parallel()
	versions(t, map[string]string{"github.com/nats-io/nats-server/v2": "v2.12.6"})
}

func TestCVE_Unnumbered_NoConsumersByUsers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.refuses("$JS.API.CONSUMER.CREATE.MB_s1", "$JS.API.CONSUMER.CREATE.MB_s1.x", "$JS.API.CONSUMER.DURABLE.CREATE.MB_s1.x", "$JS.API.CONSUMER.MSG.NEXT.MB_s1.x", "$JS.ACK.MB_s1.x.1.1.1.1.1",
		"sw.s1.mb.lead.user", "sw.s1.api.answer", "sw.s1.ev", "sw.s1.in.bob.send")
}

// TestCVE_Unnumbered_MessageIDsOfOthers sends the same id twice, as who would suppress a message of another.
func TestCVE_Unnumbered_MessageIDsOfOthers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	conn, _ := s.join()
	for _, text := range []string{"first", "second"} {
		if answer := s.ask(conn, "send", `{"to":"lead","text":"`+text+`"}`, nats.Header{nats.MsgIdHdr: {"same"}}); !strings.Contains(answer, `"posted"`) {
			t.Errorf("%s: %s", text, answer)
		}
	}
	if out := s.swarm("inbox", "lead", "--session", "s1"); !strings.Contains(out.out, "first") || !strings.Contains(out.out, "second") {
		t.Errorf("the lead has got %+v", out)
	}
	s.refuses("sw.s1.mb.lead.ann")
}

// TestCVE_2026_33252_NoHTTPAndStrictInput is about programs that speak MCP with a session. They do
// so over standard input and output.
func TestCVE_2026_33252_NoHTTPAndStrictInput(t *testing.T) {
	t.Parallel()
	versions(t, map[string]string{"github.com/modelcontextprotocol/go-sdk": "v1.4.1"})
	s := serve(t)
	s.write("secret", secret)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := s.command(ctx, "mcp", "--name", "bob", "--session", "s1")
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send","arguments":{"to":"lead","TEXT":"upper","text":"lower"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"send","arguments":{"to":"lead","text\u0000":"nul"}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"send","arguments":{"to":"lead","text":"forged","from":"user"}}}`, "",
	}, "\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%v: %s", err, out)
	}
	out := s.swarm("inbox", "lead", "--session", "s1")
	for _, text := range []string{"upper", "nul", "forged"} {
		if strings.Contains(out.out, text) {
			t.Errorf("%q was taken: %+v", text, out)
		}
	}
}
