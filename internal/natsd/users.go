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

// User is who may come in through a listener, and what for. Who comes from inside
// the process needs no user and may do everything; so may who comes through the
// socket, unless Options.Visitor says otherwise.
type User struct {
	Name      string
	Key       string   // the public half of an nkey: U and 55 more
	Publish   []string // subjects, with wildcards
	Subscribe []string
}

// NewKey returns a fresh pair: the public half for User.Key, and the seed, which
// is the secret that the user connects with.
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
	User string // "" is one whom nobody knows
	From string // the client's address
	What string
}

// guard judges who comes in. It is the server's authentication.
type guard struct {
	refused func(Refusal)

	mu    sync.Mutex
	users map[string]User   // guarded by mu; by key
	who   map[uint64]string // guarded by mu; keys by the number of the connection
	known func(uint64) bool // guarded by mu; whether a connection is still there

	visitors map[uint64]User // guarded by mu; of the socket, by the number of the connection
	left     map[uint64]bool // guarded by mu; visitors whose connection has ended
}

func newGuard(users []User, refused func(Refusal)) *guard {
	if refused == nil {
		refused = func(Refusal) {}
	}
	g := &guard{
		refused: refused, who: map[uint64]string{}, known: func(uint64) bool { return true },
		visitors: map[uint64]User{}, left: map[uint64]bool{},
	}
	g.set(users)
	return g
}

// watch lets the guard forget connections that have ended.
func (g *guard) watch(srv *server.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = func(id uint64) bool { return srv.GetClient(id) != nil }
}

// Check implements server.Authentication.
func (g *guard) Check(c server.ClientAuthentication) bool {
	from := c.RemoteAddress()
	if from != nil && from.Network() == "pipe" { // of this process, or through the socket
		if u, ok := g.visitor(c.GetID()); ok {
			allowed := u.asVisitor(c.GetOpts().Name).permitted()
			allowed.Permissions.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
			c.RegisterUser(allowed)
		}
		return true
	}
	u, err := g.judge(c)
	if err != nil {
		g.refused(Refusal{From: fmt.Sprint(from), What: "connect: " + err.Error()})
		return false
	}
	c.RegisterUser(u.permitted())
	return true
}

// permitted is the user as the server knows it.
func (u User) permitted() *server.User {
	return &server.User{Username: u.Name, Permissions: &server.Permissions{
		Publish: only(u.Publish), Subscribe: only(u.Subscribe),
	}}
}

func only(subjects []string) *server.SubjectPermission {
	if len(subjects) == 0 { // to the server an empty list is everything
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	return &server.SubjectPermission{Allow: subjects}
}

// dialed is the name of a connection of DialUnix.
var dialed = regexp.MustCompile(`^swarm-\d+-[0-9A-Z]{26}$`)

// asVisitor lets a user hear the answers to what it asks, and nobody else's.
func (u User) asVisitor(name string) User {
	if dialed.MatchString(name) {
		u.Subscribe = append(slices.Clone(u.Subscribe), inbox(name)+".>")
	}
	return u
}

// admit notes who is behind a connection through the socket, before it can ask
// for anything.
func (g *guard) admit(id uint64, u User) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for old := range g.left {
		if !g.known(old) {
			delete(g.left, old)
			delete(g.visitors, old)
		}
	}
	g.visitors[id] = u
}

// leave notes that a connection has ended. What it tried is judged to the end.
func (g *guard) leave(id uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.visitors[id]; ok {
		g.left[id] = true
	}
}

func (g *guard) visitor(id uint64) (User, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	u, ok := g.visitors[id]
	return u, ok
}

// judge finds the user who holds the other half of the key that a client names.
func (g *guard) judge(c server.ClientAuthentication) (User, error) {
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
	return u, g.enter(c.GetID(), u)
}

// signature decodes what clients send: some use the alphabet of URLs, others the
// standard one, with padding or without.
func signature(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "=")))
}

// enter notes a connection, unless its user has been removed meanwhile.
func (g *guard) enter(id uint64, u User) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now, ok := g.users[u.Key]; !ok || now.Name != u.Name {
		return fmt.Errorf("the user %s was removed", u.Name)
	}
	for old := range g.who {
		if !g.known(old) {
			delete(g.who, old)
		}
	}
	g.who[id] = u.Key
	return nil
}

// set replaces the users and returns the connections of those who are gone or
// may do something else now.
func (g *guard) set(users []User) (over []uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.users
	g.users = make(map[string]User, len(users))
	for _, u := range users {
		g.users[u.Key] = u
	}
	for id, key := range g.who {
		if now, ok := g.users[key]; !ok || !now.same(before[key]) {
			over = append(over, id)
			delete(g.who, id)
		}
	}
	return over
}

func (u User) same(v User) bool {
	return u.Name == v.Name && slices.Equal(u.Publish, v.Publish) && slices.Equal(u.Subscribe, v.Subscribe)
}

// violation is how nats-server logs what permissions did not allow, the only
// place where it tells.
var violation = regexp.MustCompile(`^(\S+) - [wc]id:(\d+)\b.* - ((?:Publish|Subscription) Violation.*)$`)

// overhear reports a refusal out of a line of the server's log.
func (g *guard) overhear(line string) {
	m := violation.FindStringSubmatch(line)
	if m == nil {
		return
	}
	id, err := strconv.ParseUint(m[2], 10, 64)
	if err != nil {
		return
	}
	g.mu.Lock()
	name := cmp.Or(g.visitors[id].Name, g.users[g.who[id]].Name)
	g.mu.Unlock()
	what, _, _ := strings.Cut(m[3], ", SID")
	g.refused(Refusal{User: name, From: m[1], What: what})
}

// SetUsers replaces who may come in through a listener. Connections of users who
// are gone, or whose subjects have changed, are closed.
func (s *Server) SetUsers(users []User) {
	for _, id := range s.guard.set(users) {
		if err := s.srv.DisconnectClientByID(id); err != nil {
			s.log.out.Debug("a connection was gone already", "id", id, "error", err)
		}
	}
}
