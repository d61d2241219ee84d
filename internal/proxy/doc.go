// Package proxy connects commands with the hosts that a person has listed, and with no
// others. It is the only way out for a command whose profile has an outlet
// (internal/sandbox).
//
//	hosts, err := proxy.ParseHosts([]string{"example.com", "*.example.org", "git.example.net:22"}, nil)
//	p := proxy.Start(process.Outlet(), proxy.Options{Hosts: hosts})
//	...
//	for _, r := range p.Refusals() { fmt.Println(r) }
//	err = p.Close()
//
// It understands CONNECT and requests with a whole URL, as HTTP_PROXY and HTTPS_PROXY make
// programs send them. A name is compared in one form (lower case, ASCII, no final dot);
// what has another form, such as 0x7f.1, is refused. The proxy finds the addresses of a
// name itself and connects to those that it has checked: an address that is not public
// is refused unless it is listed. A listed name is open at the ports 80 and 443, or at the
// one that the entry gives.
//
// Laws:
//
//   - No connection is made to a host that is not listed or that is denied, in whatever
//     form it is written (TestOnlyListedHostsAreReached).
//   - No connection is made to an address that is not public, unless it is listed
//     (TestNamesLeadToPublicAddresses).
//   - Behind port 443 is TLS for the name that was asked for (TestTheNameOfTLSIsTheHost).
//   - What was refused is known (TestRefusalsAreKnown), and nothing outlives Close
//     (TestCloseEndsConnections).
//
// Not promised: that a listed host is not a way to another one. Who may write to a host
// that everybody shares, such as a code host, can send anything there.
package proxy
