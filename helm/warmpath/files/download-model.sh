# Fetches the files of a model: each is there whole and with its checksum, or not at all under its name. Several pods
# may share the folder: one fetches a file, the others wait for it.
set -eu

has_sum() { echo "$1  $2" | sha256sum -c - >/dev/null 2>&1; }

# Goes on where the last try broke off. That a server has nothing from there on (416), or cannot go on (33), is no
# failure: the checksum tells. curl keeps the token from other hosts that it is sent on to, which wget does not.
fetch() {
  code=$(curl --fail --silent --show-error --location --retry 4 --retry-all-errors --speed-limit 1024 --speed-time 120 \
    ${MODEL_TOKEN:+--header "Authorization: Bearer $MODEL_TOKEN"} --continue-at - --write-out '%{http_code}' \
    --output "$2" "$1") || { status=$?; [ "$code" = 416 ] || [ "$status" = 33 ]; }
}

# Whoever makes the folder may write. It is touched while its owner lives, so that an old one is nobody's any more, and
# one of this pod's name is of a container that has ended.
take() {
  owner=$(cat "$1/owner" 2>/dev/null || true)
  if [ "$owner" = "$HOSTNAME" ] || [ -n "$(find "$1" -maxdepth 0 -mmin +5 2>/dev/null)" ]; then
    rm -rf "$1"
  fi
  mkdir "$1" 2>/dev/null || return 1
  echo "$HOSTNAME" >"$1/owner"
  while [ -d "$1" ]; do touch -c "$1"; sleep 30; done >/dev/null 2>&1 &
  beat=$!
  trap 'give_back "$lock"' EXIT
}

give_back() {
  trap - EXIT
  kill "$beat" 2>/dev/null || true
  rm -rf "$1"
}

get() {
  part="$2.part"
  if [ -s "$part" ]; then
    fetch "$3" "$part"
    has_sum "$1" "$part" || rm -f "$part"
  fi
  if [ ! -s "$part" ]; then
    fetch "$3" "$part"
    has_sum "$1" "$part" || { echo "$3 has not the checksum $1" >&2; rm -f "$part"; exit 1; }
  fi
  mv -f "$part" "$2"
  echo "$2 has come"
}

mkdir -p "$MODEL_DIRECTORY"
cd "$MODEL_DIRECTORY"
# what pods left behind that did not live to the end of a file
find . -name '*.part' -mmin +1440 -exec rm -f {} +
while read -r sum path url; do
  [ -n "$sum" ] || continue
  mkdir -p "$(dirname "$path")"
  lock="$path.lock"
  until has_sum "$sum" "$path"; do
    if take "$lock"; then
      has_sum "$sum" "$path" || get "$sum" "$path" "$url"
      give_back "$lock"
    else
      echo "$path is fetched by $(cat "$lock/owner" 2>/dev/null || echo another pod)"
      while [ -d "$lock" ] && [ -z "$(find "$lock" -maxdepth 0 -mmin +5 2>/dev/null)" ]; do
        sleep "${MODEL_WAIT_SECONDS:-5}"
      done
    fi
  done
  echo "$path is there"
done <<FILES
$MODEL_FILES
FILES
