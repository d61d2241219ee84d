package natsd

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// member is a user and the secret that only it has.
type member struct {
	User
	seed string
}

func newMember(t *testing.T, name string) member {
	t.Helper()
	public, seed, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return member{User{
		Name: name, Key: public, Publish: []string{"in." + name + ".>"}, Subscribe: []string{"_INBOX." + name + ".>"},
	}, seed}
}

// join connects as somebody; errors of the server come on the channel.
func (m member) join(t *testing.T, url string) (*nats.Conn, chan error, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(file, []byte(m.seed), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 10)
	nc, err := nats.Connect(url, key, nats.CustomInboxPrefix("_INBOX."+m.Name), nats.MaxReconnects(0),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }))
	if err == nil {
		t.Cleanup(nc.Close)
	}
	return nc, errs, err
}

func next[T any](t *testing.T, from chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}

// TestAUserHasSoManyConnections: beyond them it is refused until one has ended, and others
// are not.
func TestAUserHasSoManyConnections(t *testing.T) {
	ann, bob := newMember(t, "ann"), newMember(t, "bob")
	s := start(t, Options{Listen: "127.0.0.1:0", Users: []User{ann.User, bob.User}})
	var first *nats.Conn
	for range maxConnections {
		nc, _, err := ann.join(t, s.ClientURL())
		if err != nil {
			t.Fatal(err)
		}
		first = cmp.Or(first, nc)
	}
	if _, _, err := ann.join(t, s.ClientURL()); err == nil {
		t.Errorf("ann has more than %d connections", maxConnections)
	}
	if _, _, err := bob.join(t, s.ClientURL()); err != nil {
		t.Errorf("bob is refused: %v", err)
	}
	first.Close()
	for end := time.Now().Add(20 * time.Second); ; {
		if _, _, err := ann.join(t, s.ClientURL()); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatalf("ann does not get the connection back: %v", err)
		}
	}
}

func TestAConnectionHasSoManySubscriptions(t *testing.T) {
	t.Parallel()
	ann := newMember(t, "ann")
	s := start(t, Options{Listen: "127.0.0.1:0", Users: []User{ann.User}})
	nc, errs, err := ann.join(t, s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	for range maxSubscriptions + 1 {
		if _, err := nc.Subscribe("_INBOX.ann.x", func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := next(t, errs); !strings.Contains(err.Error(), "maximum subscriptions exceeded") {
		t.Errorf("the connection gets %v", err)
	}
}

func TestOnlyUsersComeInThroughAListener(t *testing.T) {
	ann, bob := newMember(t, "ann"), newMember(t, "bob")
	refused := make(chan Refusal, 100)
	s := start(t, Options{
		Listen: "127.0.0.1:0", WebSocket: "127.0.0.1:0", Users: []User{ann.User},
		OnRefusal: func(r Refusal) { refused <- r },
	})
	for _, url := range []string{s.ClientURL(), s.WebSocketURL()} {
		// Whoever knows ann's public key and not her seed cannot sign.
		forged := nats.Nkey(ann.Key, func([]byte) ([]byte, error) { return make([]byte, 64), nil })
		for name, options := range map[string][]nats.Option{
			"without a key": nil, "with a password": {nats.UserInfo("ann", "ann")}, "with a forged signature": {forged},
		} {
			// A WebSocket may be closed before its client has asked.
			if nc, err := nats.Connect(url, options...); err == nil {
				t.Errorf("%s %s: let in", url, name)
				nc.Close()
			}
			if r := next(t, refused); r.User != "" || !strings.HasPrefix(r.What, "connect: ") {
				t.Errorf("%s %s: reported as %+v", url, name, r)
			}
		}
		if _, _, err := bob.join(t, url); err == nil {
			t.Errorf("%s with a key that nobody has: let in", url)
		}
		next(t, refused)
		if _, _, err := ann.join(t, url); err != nil {
			t.Errorf("%s as ann: %v", url, err)
		}
	}
	if err := conn(t, s).Flush(); err != nil {
		t.Errorf("in process: %v", err)
	}
}

func TestAUserMayDoWhatItsSubjectsSayAndNoMore(t *testing.T) {
	ann, bob := newMember(t, "ann"), newMember(t, "bob")
	refused := make(chan Refusal, 100)
	s := start(t, Options{Listen: "127.0.0.1:0", Users: []User{ann.User, bob.User}, OnRefusal: func(r Refusal) { refused <- r }})
	inside := conn(t, s)
	sub, err := inside.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	if err := inside.Flush(); err != nil {
		t.Fatal(err)
	}
	nc, errs, err := ann.join(t, s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"in.bob.send", "in", "in.ann", "_INBOX.bob.x", "$JS.API.INFO", "$SYS.REQ.SERVER.PING"} {
		if err := nc.Publish(subject, []byte("forged")); err != nil {
			t.Fatal(err)
		}
		if err := next(t, errs); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("publish on %s: %v", subject, err)
		}
		if r := next(t, refused); r.User != "ann" || !strings.Contains(r.What, subject) {
			t.Errorf("reported as %+v", r)
		}
	}
	for _, subject := range []string{">", "in.ann.>", "in.bob.>", "_INBOX.bob.>", "_INBOX.>", "*.bob.>"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if err := next(t, errs); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("subscribe to %s: %v", subject, err)
		}
		if r := next(t, refused); r.User != "ann" || !strings.Contains(r.What, subject) {
			t.Errorf("reported as %+v", r)
		}
	}
	if err := nc.Publish("in.ann.send", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if m, err := sub.NextMsg(10 * time.Second); err != nil || string(m.Data) != "mine" {
		t.Errorf("what came through: %v, %v", m, err)
	}
}

func TestARemovedUserIsOutAtOnce(t *testing.T) {
	ann, bob := newMember(t, "ann"), newMember(t, "bob")
	s := start(t, Options{Listen: "127.0.0.1:0", Users: []User{ann.User, bob.User}})
	gone := make(chan struct{}, 1)
	first, _, err := ann.join(t, s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	first.SetClosedHandler(func(*nats.Conn) { gone <- struct{}{} })
	stays, _, err := bob.join(t, s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	s.SetUsers([]User{bob.User})
	next(t, gone)
	// A closed connection may return no other error.
	if _, _, err := ann.join(t, s.ClientURL()); err == nil {
		t.Error("came in again")
	}
	if err := stays.Flush(); err != nil {
		t.Errorf("another user: %v", err)
	}
	s.SetUsers([]User{ann.User, bob.User})
	if _, _, err := ann.join(t, s.ClientURL()); err != nil {
		t.Errorf("taken in again: %v", err)
	}
	first.Close()
}

// A visitor is authorized before it can publish, on each of its connections, and
// receives its own answers alone.
func TestAVisitorMayDoWhatItsJudgeSaysAndNoMore(t *testing.T) {
	refused := make(chan Refusal, 100)
	var judged []int
	s, path := start(t, Options{
		OnRefusal: func(r Refusal) { refused <- r },
		Authorize: func(pid int) *User {
			judged = append(judged, pid)
			if len(judged) == 2 {
				return nil
			}
			return &User{Name: "guest", Publish: []string{"api.look"}}
		},
	}), socketPath(t)
	if err := s.ServeUnix(path); err != nil {
		t.Fatal(err)
	}
	inside := conn(t, s)
	if _, err := inside.Subscribe("api.*", func(m *nats.Msg) {
		if err := m.Respond([]byte(m.Subject)); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := inside.Flush(); err != nil { // the others' requests come by another way
		t.Fatal(err)
	}
	for visit := range 3 {
		errs := make(chan error, 10)
		nc, err := DialUnix(path, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		if m, err := nc.Request("api.look", nil, 10*time.Second); err != nil || string(m.Data) != "api.look" {
			t.Errorf("visit %d: what is allowed: %v", visit, err)
		}
		if visit == 1 {
			if _, err := nc.Request("api.grant", nil, 10*time.Second); err != nil {
				t.Errorf("whom nothing is forbidden: %v", err)
			}
			continue
		}
		for _, try := range []func() error{
			func() error { return nc.Publish("api.grant", nil) },
			func() error { return nc.Publish("$JS.API.INFO", nil) },
			func() error { _, err := nc.SubscribeSync("_INBOX.>"); return err },
			func() error { _, err := nc.SubscribeSync("api.look"); return err },
		} {
			if err := try(); err != nil {
				t.Fatal(err)
			}
			if err := next(t, errs); !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("visit %d: %v", visit, err)
			}
			if r := next(t, refused); r.User != "guest" {
				t.Errorf("reported as %+v", r)
			}
		}
	}
	for _, pid := range judged {
		if pid != os.Getpid() {
			t.Errorf("judged process %d and not this, %d", pid, os.Getpid())
		}
	}
}

// Clients write the signature in more than one form of base64.
func TestASignatureMayComeInTheStandardAlphabet(t *testing.T) {
	ann := newMember(t, "ann")
	s := start(t, Options{Listen: "127.0.0.1:0", Users: []User{ann.User}})
	pair, err := nkeys.FromSeed([]byte(ann.seed))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 3; {
		dial, err := net.Dial("tcp", strings.TrimPrefix(s.ClientURL(), "nats://"))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(dial)
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var info struct{ Nonce string }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil {
			t.Fatal(err)
		}
		sig, err := pair.Sign([]byte(info.Nonce))
		if err != nil {
			t.Fatal(err)
		}
		text := base64.StdEncoding.EncodeToString(sig)
		if strings.ContainsAny(text, "+/") { // the two alphabets differ in these
			n++
		}
		fmt.Fprintf(dial, "CONNECT {\"nkey\":%q,\"sig\":%q,\"verbose\":true}\r\n", ann.Key, text)
		if said, err := lines.ReadString('\n'); err != nil || said != "+OK\r\n" {
			t.Errorf("with the signature %s: %q, %v", text, said, err)
		}
		if err := dial.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A page in a browser of the user must not reach the bus, whatever its address and whatever
// name of this machine it has found.
func TestNoPageOpensAWebSocket(t *testing.T) {
	s := start(t, Options{WebSocket: "127.0.0.1:0", Users: []User{newMember(t, "ann").User}})
	host := strings.TrimPrefix(s.WebSocketURL(), "ws://")
	for origin, want := range map[string]int{
		"": http.StatusSwitchingProtocols, "http://evil.example": http.StatusForbidden, "null": http.StatusForbidden, "file://": http.StatusForbidden,
		"http://" + host: http.StatusForbidden, "https://origin.invalid": http.StatusForbidden,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
		}
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != want {
			t.Errorf("the origin %q gets %s", origin, resp.Status)
		}
	}
}
