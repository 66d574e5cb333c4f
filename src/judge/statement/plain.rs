//! Plain words: those that say nothing of a number beside them but what it counts or measures. Any other word may say
//! that it is a limit, a goal, or roughly so, and what is not understood is not refuted.

use std::collections::HashSet;
use std::sync::LazyLock;

const WORDS: &str = "\
a accuracy achieve achieved achieves across activate activated activates active advantage advantages after again \
against ahead all also amount amounts an and another answer answered answers apart appendix are arm arms as at \
attained attains attention auxiliary average averaged averages b balance balancing baseline batch batches be \
beat beats because been before began begin begins behind being best beta between big billion bit bits block \
blocks bootstrap both bottom bpb budget budgets but by byte bytes came can center centered centred chance change \
changed changes chapter characters chars checkpoint checkpoints ci clock code column columns come comes commit \
compute confidence config configuration consist consists constant consume consumed consumes contain contains \
context core cores corpus correct cost costs count counted counts cpu data dataset date day days dead decay \
decrease decreases deep deeper dense depth detectable detected deviation did difference differences different \
digits dimension dimensions do document documents does drop dropout drops dtype during each earlier early \
easiest embedding embeddings end ended ends epoch epochs equal equals equation error errors eval evaluate \
evaluated evaluates evaluation evaluations every exactly experiment expert experts fall falls fast faster feed \
fell figure figures file files final finish finished finishes first fixed flops following for forward found from \
full gap gaps gave gb get gets gib give given gives go goes got gpu gpus gradient gradients group groups h had \
hardest has have head heads held-out hence here hidden high highest hit hits hold holds horizon horizons hour \
hours how i id if improve improved improves in increase increases initial initialization inner input interval is \
it item items iteration iterations its just k kb keep keeps kept land landed lands large largest last lasted \
lasts late later layer layers lead leads learning led left length lie lies line lines link load long longer \
loses loss losses lost low lowest lr m machine machines made main make makes many margin mb mean means measure \
measured measures median memory metric mib million minute minutes mixture mixtures model models moe ms much \
namely nat nats network networks never new next no norm norms not note notes now number numbers obtain obtained \
obtains of old on only optimizer or other others our outer output own p page pair pairs paper parameter \
parameters params part parts per percent percentage perplexities perplexity planned point points post precision \
previous process processed processes question questions quicker ran random rate rates ratio reach reached \
reaches read reads record recorded records release released remain remained remains report reported reports \
resamples respectively result results right rise rises rose routed router routing row rows run runs s same saw \
schedule score scored scores sd se second seconds section see seed seeds seen sees sentence sentences sequence \
sequences set sets setting settings share shared short shorter show shown shows significance significant \
significantly single sit sits size sizes slow slower small smallest so sparse speed speedup spend spends spent \
split spread stand standard stands start started starts stay stayed stays std step steps still stop stopped \
stops store stored stores study t table take takes task tasks test tests text than that the their then there \
therefore these they third this those thousand thread threads through throughout throughput thus tied time times \
tiny to token tokens too took top total train trained training trains trillion unit units untied update updates \
use used uses using validation value values version versions versus vocab vocabulary vs wall warmup was we \
weight weights went were what when where which while who whole whose wide width will wins with won word words \
worst wrong x yield yielded yields you";

/// Words that make a limit of a number, or a rough one, and need not stand right beside it: "under the magic 1.70".
const ROUGH: &str = "\
about above almost anywhere appr approx approximate approximately around barely below beneath beyond bigger \
bound circa close conservatively cut digits easily estimated fewer figures floored greater higher ish larger \
least less lower maximum minimum more most near nearest nearly odd order over plus rough roughly round rounded \
rounds smaller something somewhere sub truncated truncates under underneath up upward upwards vicinity";

static PLAIN: LazyLock<HashSet<&str>> = LazyLock::new(|| WORDS.split(' ').collect());

static ROUGHLY: LazyLock<HashSet<&str>> = LazyLock::new(|| ROUGH.split(' ').collect());

/// Whether a word in lower case makes a limit of a number near it, or a rough one.
pub fn is_rough(word: &str) -> bool {
    ROUGHLY.contains(word)
}

/// Whether a word in lower case is plain.
pub fn is_plain(word: &str) -> bool {
    PLAIN.contains(word)
}

#[cfg(test)]
mod tests {
    use super::{PLAIN, WORDS, is_plain, is_rough};

    #[test]
    fn plain_words_stand_once_and_in_order() {
        let words: Vec<&str> = WORDS.split(' ').collect();
        assert!(words.windows(2).all(|pair| pair[0] < pair[1]), "{words:?}");
        assert_eq!(words.len(), PLAIN.len());
        assert!(is_plain("loss") && !is_plain("magic") && !is_plain("roughly"));
        assert!(is_rough("roughly") && !is_rough("magic"));
    }
}
