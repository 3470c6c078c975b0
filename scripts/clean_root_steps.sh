# The steps in the clean root (scripts/clean-root): those of Containerfile's CMD and HEALTHCHECK, and one release.
root=$1 data=$2 tmp=$3
export PATH="$root/opt/dpforest/bin:/usr/sbin:/usr/bin:/bin" HOME="$tmp" TMPDIR="$tmp" NUMBA_CACHE_DIR="$tmp/kernels"
export PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 DPFOREST_DATA_DIR="$data" DPFOREST_MAX_SESSIONS=1
cd "$data"
if [ "$data" = /data ] && touch "$root/opt/x" 2> /dev/null; then echo "The root is not read-only."; exit 1; fi
cp -r "$root/opt/kernels" "$tmp/"

dpforest app --server.address 0.0.0.0 --server.headless true --server.port 8599 > "$tmp/log" 2>&1 &
app=$!
trap 'kill $app 2> /dev/null || true' EXIT
get() {
    python -c 'import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], headers={"Accept": "text/html"}))' \
        "http://localhost:8599/$1" 2> /dev/null
}
for _ in $(seq 600); do
    if get _stcore/health; then break; fi
    kill -0 $app || { cat "$tmp/log"; exit 1; }
    sleep 0.2
done
get Audit || { echo "The app serves no page."; cat "$tmp/log"; exit 1; }
if get Compare; then echo "A second page opened, although one session is the limit."; exit 1; fi

python - << 'PYTHON'
import json

from dpforest import load_dataset

zoo = load_dataset("zoo")
zoo.X.assign(**{zoo.domain.label: zoo.y}).to_csv("zoo.csv", index=False)
with open("schema.json", "w") as file:
    json.dump(zoo.domain.to_dict(), file)
PYTHON
dpforest release zoo.csv schema.json --forest majority-labels --epsilon 1 --one-row-per-person --population animals \
    --new-population --purpose "a test" --owner "a test" --chosen-without-looking --yes > "$tmp/release"
grep "^Released: zoo_release_1.json.gz" "$tmp/release"
dpforest verify zoo_release_1.json.gz zoo_release_1_record.json | tail -3
echo "The app and the command run in a clean root."
