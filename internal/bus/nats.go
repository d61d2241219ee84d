package bus

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/actorswarm/swarm/session"
	"github.com/nats-io/nats.go"
)

// serverError adds a remedy to the error of a server that cannot be used.
func serverError(n session.NATS, err error) error {
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

// credentials reads the file as credentials or as an nkey seed, whichever it is.
func credentials(n session.NATS) (nats.Option, error) {
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
