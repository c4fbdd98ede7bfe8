# Fetches the files of a model: each is there whole and with its checksum, or not at all under its name.
set -eu

has_sum() { echo "$1  $2" | sha256sum -c - >/dev/null 2>&1; }

# goes on where the last try broke off
fetch() {
  if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --retry 4 --retry-all-errors --continue-at - \
      ${MODEL_TOKEN:+--header "Authorization: Bearer $MODEL_TOKEN"} --output "$2" "$1"
  else
    wget -c ${MODEL_TOKEN:+--header "Authorization: Bearer $MODEL_TOKEN"} -O "$2" "$1"
  fi
}

mkdir -p "$MODEL_DIRECTORY"
cd "$MODEL_DIRECTORY"
# what pods left behind that did not live to the end of a file
find . -name '*.part' -mmin +1440 -exec rm -f {} +
printf '%s' "$MODEL_FILES" | while read -r sum path url; do
  if has_sum "$sum" "$path"; then
    echo "$path is there"
    continue
  fi
  part="$path.$HOSTNAME.part"
  mkdir -p "$(dirname "$path")"
  has_sum "$sum" "$part" || fetch "$url" "$part"
  has_sum "$sum" "$part" || { echo "$url has not the checksum $sum" >&2; rm -f "$part"; exit 1; }
  mv -f "$part" "$path"
  echo "$path has come"
done
