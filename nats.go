package swarm

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
)

func connectNATS(n NATS, s *Session) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("swarm session " + s.Info().ID), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.CustomInboxPrefix(inboxPrefix(string(mailbox.OfSession(s.Info().ID)))), // which nobody else need be let listen to
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			s.bus.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName}, event.Warning{Text: "the NATS server: " + err.Error()})
		}),
	}
	creds, err := natsCredentials(n)
	if err != nil {
		return nil, err
	}
	if creds != nil {
		options = append(options, creds)
	}
	conn, err := nats.Connect(n.URL, options...)
	if err != nil {
		return nil, natsUnreached(n, err)
	}
	return conn, nil
}

// unreached says what to do about a server that cannot be used.
func natsUnreached(n NATS, err error) error {
	because := func(format string, args ...any) error {
		return fmt.Errorf("the NATS server %s "+format+": %w", append(append([]any{n.URL}, args...), err)...)
	}
	unknown := (*net.DNSError)(nil)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		if n.Creds == "" {
			return because("lets nobody in without credentials; give those of one of its users with --nats-creds FILE")
		}
		return because("does not let in whom %s is of; give the credentials of one of its users with --nats-creds FILE", n.Creds)
	case errors.As(err, &unknown):
		return because("has a host that is not known here; name another with --nats URL")
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return because("has a certificate that is not believed here; name the file of its authority in SSL_CERT_FILE, or a host that the certificate is for")
	case errors.Is(err, nats.ErrNoServers):
		return because("does not answer: nobody listens there; start it, or name another with --nats URL")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return because("does not answer as one: something else may listen there; name another with --nats URL")
	}
	return because("cannot be used; name another with --nats URL")
}

// credentials reads the file as what it is.
func natsCredentials(n NATS) (nats.Option, error) {
	if n.Creds == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(n.Creds)
	if err != nil {
		return nil, fmt.Errorf("the credentials of the NATS server cannot be read; name their file with --nats-creds FILE: %w", err)
	}
	defer clear(raw)
	if bytes.Contains(raw, []byte("BEGIN NATS USER JWT")) {
		return nats.UserCredentials(n.Creds), nil
	}
	key, err := nats.NkeyOptionFromSeed(n.Creds)
	if err != nil {
		return nil, fmt.Errorf("%s holds neither NATS credentials nor an nkey seed; name another file with --nats-creds FILE: %w", n.Creds, err)
	}
	return key, nil
}

// exposed says what is wrong with listeners that others than this machine reach.
func (o *Options) exposed() []string {
	var all []string
	if o.ListenCert != "" {
		return nil
	}
	for _, listen := range []string{o.Listen, o.ListenWebSocket} {
		host, _, err := net.SplitHostPort(listen)
		if err != nil || host == "localhost" {
			continue
		}
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			all = append(all, fmt.Sprintf("the message bus listens on %s without TLS: keys are safe, and whoever is on the way reads what is said; give it a certificate with --listen-cert FILE --listen-key FILE, or listen on 127.0.0.1 and let others come through ssh", listen))
		}
	}
	return all
}
