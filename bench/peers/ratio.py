"""Ratios of two programs that took turns: the median, and how sure it is."""
import math
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RAILBED = os.environ.get('RAILBED', str(ROOT / 'build/release/railbed'))

sys.path.insert(0, str(ROOT / 'tests'))
import guardian  # noqa: E402, F401  # each script begins by it


def order_interval(count):
    """Ranks, from 0, of the values between which the median of the population lies at 95 %; all below six values."""
    chance, rank = 0.0, 0
    while rank < count // 2 and chance + math.comb(count, rank) / 2 ** count <= 0.025:
        chance += math.comb(count, rank) / 2 ** count
        rank += 1
    low = max(rank - 1, 0)
    return low, count - 1 - low


def paired_ratio(pairs):
    """(median, low, high) of ours ÷ theirs; `pairs` holds one (ours, theirs) a round."""
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    low, high = order_interval(len(ratios))
    return statistics.median(ratios), ratios[low], ratios[high]


def print_ratio(metric, pairs):
    """The line that every script here prints, and what it was made of, on stderr."""
    if not pairs:
        print(f'ratio {metric} - - -', flush=True)
        return
    print('ratio', metric, *(f'{value:.3f}' for value in paired_ratio(pairs)), flush=True)
    ours, theirs = (statistics.median(side) for side in zip(*pairs))
    print(f'      {metric}: railbed {ours:.5g}, peer {theirs:.5g}, {len(pairs)} rounds', file=sys.stderr)


def take_turns(rounds, measures):
    """Runs every pair of `measures` {metric: (ours, theirs)} once a round, who is first changing from round to round,
    and prints the ratios. A function answers a number, or None when its program gave none: then the round is left out."""
    pairs = {metric: [] for metric in measures}
    for number in range(rounds):
        print(f'round {number + 1} of {rounds}, load {os.getloadavg()[0]:.1f}', file=sys.stderr, flush=True)
        for metric, (ours, theirs) in measures.items():
            if number % 2:
                other, own = theirs(), ours()
            else:
                own, other = ours(), theirs()
            if own and other:
                pairs[metric].append((own, other))
                print(f'      {metric}: {own:.5g} ÷ {other:.5g} = {own / other:.3f}', file=sys.stderr, flush=True)
    for metric, values in pairs.items():
        print_ratio(metric, values)


def output_of(words, patience, right=(0,)):
    """Returns what the command prints; reports on stderr an exit code that is not among `right`, and an empty output."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=patience)
    if done.returncode not in right or not done.stdout:
        print(f'{" ".join(words)} ended with {done.returncode}: {done.stderr.strip()[-300:]}', file=sys.stderr)
    return done.stdout


def need(program, package):
    """Installs a Debian package when its program is missing; ends the script, with exit code 0, where that cannot be."""
    import shutil
    if not shutil.which(program):
        subprocess.run([str(ROOT / 'scripts/install-packages'), 'peers'])
    if not shutil.which(program):
        print(f'{program} is not to be had here (package {package})', file=sys.stderr)
        sys.exit(0)
