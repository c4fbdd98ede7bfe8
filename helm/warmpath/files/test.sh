# `helm test`: the model is there, a chat is answered, and the second time its beginning is found in a cache.
set -eu
TMPDIR=${TMPDIR:-/tmp}

# a header with no key in it is none
ask() { wget -q -T 120 -O - --header "Authorization: Bearer ${API_KEY:-}" "$@"; }

[ -n "${API_KEY:-}" ] || echo "without a key: if $ROUTER asks for one, put it into its Secret as operator-key"
echo "models of $ROUTER:"
ask "$ROUTER/v1/models" | tee "$TMPDIR/models"
grep -q "\"$MODEL\"" "$TMPDIR/models" || { echo "$MODEL is not among them" >&2; exit 1; }

text='Once upon a time there was a small test that asked the same long question twice, to see who remembers it.'
body="{\"model\": \"$MODEL\", \"max_tokens\": 8, \"messages\": [{\"role\": \"user\", \"content\": \"$text\"}]}"
try=1
while :; do
  echo "chat $try:"
  ask --header 'Content-Type: application/json' --post-data "$body" "$ROUTER/v1/chat/completions" | tee "$TMPDIR/answer"
  echo
  grep -q '"finish_reason"' "$TMPDIR/answer" || { echo "that is no answer" >&2; exit 1; }
  grep -q '"cached_tokens":[1-9]' "$TMPDIR/answer" && break
  # another router or worker may answer, and hears of the first one's cache a moment later
  [ $try -lt 10 ] || { echo "no cached token in $try answers" >&2; exit 1; }
  try=$((try + 1))
  sleep 1
done
echo "well"
