#!/bin/sh
# A teammate that is a shell script: it takes tasks "count lines of FILE" from the
# shared list, does them, and writes the lead what it found. It needs the nats
# command and jq, and what "swarm bus user add NAME" has printed:
#
#   SWARM_URL=nats://127.0.0.1:4222 SWARM_SESSION=s1 SWARM_NAME=bob SWARM_KEY=bob.nk ./peer.sh
#
# It ends when the lead writes "stop".
set -eu
case $SWARM_URL in
nats://127.0.0.1:*) ;;
*) echo "peer: $SWARM_URL is not of this machine" >&2 && exit 1 ;;
esac

# ask VERB JSON prints the session's answer.
ask() {
	nats --server "$SWARM_URL" --nkey "$SWARM_KEY" --inbox-prefix "_INBOX.$SWARM_NAME" \
		request --raw --timeout 5s "sw.$SWARM_SESSION.in.$SWARM_NAME.$1" "$2"
}

# work takes a free task and does it; without one it fails.
work() {
	task=$(ask claim '{}' | jq -e -c '.task // empty') || return 1
	id=$(printf %s "$task" | jq -r .id)
	file=$(printf %s "$task" | jq -r '.subject | ltrimstr("count lines of ")')
	lines=$(wc -l <"$file")
	ask complete "$(jq -n -c --arg task "$id" '$ARGS.named')" >/dev/null
	# With a key a letter that is sent again is the same letter.
	ask send "$(jq -n -c --arg text "$file has $((lines)) lines" --arg key "task-$id" '{to: "lead", $text, $key}')" >/dev/null
	echo "did task $id"
}

last=
while :; do
	while work; do :; done
	mail=$(ask read "$(jq -n -c --arg last "$last" 'if $last == "" then {} else {$last} end')")
	last=$(printf %s "$mail" | jq -r --arg last "$last" '.messages[-1].id // $last')
	if printf %s "$mail" | jq -e '.messages | any(.text == "stop")' >/dev/null; then
		ask read "$(jq -n -c --arg last "$last" '{$last}')" >/dev/null
		exit 0
	fi
	sleep 0.2
done
