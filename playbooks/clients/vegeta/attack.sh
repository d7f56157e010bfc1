# Arguments: the URL, calls a second, threads, calls of each, a directory to write to, the file for the results.
set -eu
export LC_ALL=C  # awk would print and read decimals with the comma of other languages
PATH=$PATH:$PWD  # vegeta may lie beside the manifest
seconds=$(awk -v rate="$2" -v threads="$3" -v calls="$4" 'BEGIN {printf "%.6f", threads * calls / rate}')
# vegeta takes only a whole number of calls, per any unit of time.
rate=$(awk -v rate="$2" 'BEGIN {printf "%.0f/1000000s", 1000000 * rate}')
echo "GET $1" > "$5/target"
vegeta attack -targets "$5/target" -rate "$rate" -duration "${seconds}s" -workers "$3" -output "$5/results"
vegeta encode -to csv -output "$6" "$5/results"
