package natsd

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// User is a user of a listener with its permissions. Connections inside the process need no
// user and may do everything, and so may those of the socket, unless Options.Authorize
// restricts them.
type User struct {
	Name      string
	Key       string   // public half of an nkey: U and 55 characters
	Publish   []string // subjects, with wildcards
	Subscribe []string
}

// Sign signs a text with the seed of a key.
func Sign(seed string, text []byte) (string, error) {
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(seed)))
	if err != nil {
		return "", fmt.Errorf("natsd: read a key: %w", err)
	}
	defer pair.Wipe()
	signed, err := pair.Sign(text)
	if err != nil {
		return "", fmt.Errorf("natsd: sign with a key: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(signed), nil
}

// Verify reports, by a nil error, that a text was signed with the seed of the public key.
func Verify(public string, text []byte, signed string) error {
	pair, err := nkeys.FromPublicKey(public)
	if err != nil {
		return fmt.Errorf("natsd: read a public key: %w", err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(signed)
	if err != nil {
		return fmt.Errorf("natsd: read a signature: %w", err)
	}
	return pair.Verify(text, raw)
}

// NewKey returns a new key pair: the public half for User.Key, and the seed, the secret with
// which the user connects.
func NewKey() (public, seed string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", "", fmt.Errorf("natsd: make a key: %w", err)
	}
	defer pair.Wipe()
	if public, err = pair.PublicKey(); err != nil {
		return "", "", fmt.Errorf("natsd: make a key: %w", err)
	}
	secret, err := pair.Seed()
	if err != nil {
		return "", "", fmt.Errorf("natsd: make a key: %w", err)
	}
	return public, string(secret), nil
}

// Refusal is something that the server did not let a client do.
type Refusal struct {
	User string // "" if unknown
	From string // the client's address
	What string
}

// authenticator is the server's authentication.
type authenticator struct {
	refused func(Refusal)

	mu          sync.Mutex
	users       map[string]User   // guarded by mu; by key
	names       map[uint64]string // guarded by mu; user keys by the number of the connection
	isConnected func(uint64) bool // guarded by mu; whether a connection still exists

	visitors map[uint64]User // guarded by mu; of the socket, by the number of the connection
	ended    map[uint64]bool // guarded by mu; visitors whose connection has ended
}

func newAuthenticator(users []User, refused func(Refusal)) *authenticator {
	if refused == nil {
		refused = func(Refusal) {}
	}
	g := &authenticator{
		refused: refused, names: map[uint64]string{}, isConnected: func(uint64) bool { return true },
		visitors: map[uint64]User{}, ended: map[uint64]bool{},
	}
	g.set(users)
	return g
}

// watch lets the authenticator forget connections that have ended.
func (g *authenticator) watch(srv *server.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isConnected = func(id uint64) bool { return srv.GetClient(id) != nil }
}

// Check implements server.Authentication.
func (g *authenticator) Check(c server.ClientAuthentication) bool {
	from := c.RemoteAddress()
	if from != nil && from.Network() == "pipe" { // of this process, or of the socket
		if u, ok := g.visitor(c.GetID()); ok {
			allowed := u.asVisitor(c.GetOpts().Name).permitted()
			allowed.Permissions.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
			c.RegisterUser(allowed)
		}
		return true
	}
	u, err := g.authenticate(c)
	if err != nil {
		g.refused(Refusal{From: fmt.Sprint(from), What: "connect: " + err.Error()})
		return false
	}
	c.RegisterUser(u.permitted())
	return true
}

// permitted returns the user in the form of nats-server.
func (u User) permitted() *server.User {
	return &server.User{Username: u.Name, Permissions: &server.Permissions{
		Publish: only(u.Publish), Subscribe: only(u.Subscribe),
	}}
}

func only(subjects []string) *server.SubjectPermission {
	if len(subjects) == 0 { // for the server an empty list permits everything
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	return &server.SubjectPermission{Allow: subjects}
}

// dialed is the name of a connection of DialUnix.
var dialed = regexp.MustCompile(`^swarm-\d+-[0-9A-Z]{26}$`)

// asVisitor lets a user receive the replies to its own requests, and no others.
func (u User) asVisitor(name string) User {
	if dialed.MatchString(name) {
		u.Subscribe = append(slices.Clone(u.Subscribe), inbox(name)+".>")
	}
	return u
}

// registerVisitor records the user of a connection of the socket, before it can send
// anything.
func (g *authenticator) registerVisitor(id uint64, u User) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for old := range g.ended {
		if !g.isConnected(old) {
			delete(g.ended, old)
			delete(g.visitors, old)
		}
	}
	g.visitors[id] = u
}

// removeVisitor records that a connection has ended. What it sent before is still checked.
func (g *authenticator) removeVisitor(id uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.visitors[id]; ok {
		g.ended[id] = true
	}
}

func (g *authenticator) visitor(id uint64) (User, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	u, ok := g.visitors[id]
	return u, ok
}

// authenticate returns the user who owns the key that a client presents.
func (g *authenticator) authenticate(c server.ClientAuthentication) (User, error) {
	opts := c.GetOpts()
	g.mu.Lock()
	u, ok := g.users[opts.Nkey]
	g.mu.Unlock()
	if !ok {
		return User{}, fmt.Errorf("no user has the key %.60q", opts.Nkey)
	}
	sig, err := signature(opts.Sig)
	if err != nil {
		return User{}, fmt.Errorf("the signature of %s is not valid: %w", u.Name, err)
	}
	public, err := nkeys.FromPublicKey(u.Key)
	if err != nil {
		return User{}, fmt.Errorf("the key of %s is not valid: %w", u.Name, err)
	}
	if err := public.Verify(c.GetNonce(), sig); err != nil {
		return User{}, fmt.Errorf("the signature of %s is not valid: %w", u.Name, err)
	}
	return u, g.register(c.GetID(), u)
}

// signature decodes a signature: some clients use the URL alphabet, others the standard
// one, with padding or without.
func signature(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "=")))
}

// maxConnections bounds the connections of a user, each of which can make subscriptions and
// have bytes waiting for it.
const maxConnections = 16

// register records a connection, unless its user was removed meanwhile.
func (g *authenticator) register(id uint64, u User) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now, ok := g.users[u.Key]; !ok || now.Name != u.Name {
		return fmt.Errorf("the user %s was removed", u.Name)
	}
	connections := 0
	for old, key := range g.names {
		switch {
		case !g.isConnected(old):
			delete(g.names, old)
		case key == u.Key:
			connections++
		}
	}
	if connections >= maxConnections {
		return fmt.Errorf("the user %s has %d connections, which is the most", u.Name, connections)
	}
	g.names[id] = u.Key
	return nil
}

// set replaces the users and returns the connections of users that were removed or have
// other permissions now.
func (g *authenticator) set(users []User) (over []uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.users
	g.users = make(map[string]User, len(users))
	for _, u := range users {
		g.users[u.Key] = u
	}
	for id, key := range g.names {
		if now, ok := g.users[key]; !ok || !now.same(before[key]) {
			over = append(over, id)
			delete(g.names, id)
		}
	}
	return over
}

func (u User) same(v User) bool {
	return u.Name == v.Name && slices.Equal(u.Publish, v.Publish) && slices.Equal(u.Subscribe, v.Subscribe)
}

// violation matches the log line for a violation of permissions, which nats-server reports
// nowhere else.
var violation = regexp.MustCompile(`^(\S+) - [wc]id:(\d+)\b.* - ((?:Publish|Subscription) Violation.*)$`)

// reportRefusal reports a refusal that a line of the server's log contains.
func (g *authenticator) reportRefusal(line string) {
	m := violation.FindStringSubmatch(line)
	if m == nil {
		return
	}
	id, err := strconv.ParseUint(m[2], 10, 64)
	if err != nil {
		return
	}
	g.mu.Lock()
	name := cmp.Or(g.visitors[id].Name, g.users[g.names[id]].Name)
	g.mu.Unlock()
	what, _, _ := strings.Cut(m[3], ", SID")
	g.refused(Refusal{User: name, From: m[1], What: what})
}

// SetUsers replaces the users of the listeners. It closes connections of users that were
// removed, or whose subjects have changed.
func (s *Server) SetUsers(users []User) {
	for _, id := range s.auth.set(users) {
		if err := s.srv.DisconnectClientByID(id); err != nil {
			s.log.out.Debug("a connection had ended already", "id", id, "error", err)
		}
	}
}
