//! The uniform runner: load posts and bundles, judge every claim, collect what came out.
//!
//! Owns the order of things and what one failure stops: a malformed claim is reported and the others
//! are still judged; a bundle that is rejected stops the posts that pin it, and no others.

pub(crate) mod challenged;
pub(crate) mod history;
pub(crate) mod inspection;
mod many;
mod numbered;
mod own;
mod pictures;
mod replays;
pub(crate) mod same_run;
mod store;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use crate::context::PostContext;
use crate::covered::covered_in;
use crate::evaluate::without_shadows;
use crate::library::Library;
use crate::lock;
use crate::page::{DRAFTED, Excuse, NOT_THERE, PostPage, PostStatement, TextSource};
use crate::review::{self, ReviewPolicy, Reviews};
use crate::run_design::AFTER_THE_FACT;
use crate::started::StartedRuns;
use crate::statement;
use crate::texts::{GivenTexts, HIDDEN, NONE_NAMED, TextAtHand, TextsAtHand};
use crate::transcribed;
use crate::work::Work;
use repro_bundle::bundle::{Bundle, ReadOptions, SIGNATURE};
use repro_bundle::signature::{Attestations, PublicKey, Timestamps};
use repro_core::digest::Digest;
use repro_core::parallel;
use repro_core::source::{Error, Location, codes};
use repro_model::challenge::{Challenge, OTHER_CHALLENGE};
use repro_model::checkpoints::InitialWeights;
use repro_model::replay::{ReplayOutcome, Replays};
use repro_report::outcome::{
    BundleReport, ClaimReport, EvidenceOrigin, Finding, Method, Outcome, PostReport, ReadBy,
    Report, Severity, SignatureReport, TextMarkup, TextPlace, TextReport, Verdict,
};
use repro_report::part::{PartSubject, ReportPart, ReportSink};

pub use history::{PlanAt, PlanHistory};
use inspection::emitter_problems;
pub use inspection::{InspectedBundle, asked_steps};
pub use many::inspect_all;
use numbered::NumberedClaims;
pub use own::stampable;
use replays::distinct;
pub use replays::{Replayer, SliceRequest, replays_of};
pub use same_run::{SAME_RUN, SameRun, TracedBundle, doubts as same_run_doubts, same_runs};
pub use store::BundleStore;

codes! {
    UNCONFIRMED = "verify::unconfirmed", "the draft contains unconfirmed statements", "read each one, and delete the line `# drafted` above it";
    CONTRADICTED = "verify::contradicted", "the evidence is in a bundle that contradicts itself", "see the bundle's failed consistency checks";
}

/// With more bundles than this for each thread, a thread reads a bundle alone: starting threads for every one of
/// them costs more than they save.
const BUNDLES_PER_THREAD: usize = 2;

/// A caller's demands on evidence.
#[derive(Debug, Clone, Default)]
pub struct Demands {
    /// The weakest origin.
    pub origin: Option<EvidenceOrigin>,
    /// The weakest method.
    pub method: Option<Method>,
    /// The weakest reading; else that of the project's policy.
    pub reading: Option<ReadBy>,
    /// The keys of which one must have signed each bundle; if there are none, nothing need be signed.
    pub keys: Vec<PublicKey>,
    /// A folder with files that receipts name and bundles do not hold.
    pub artifacts: Option<PathBuf>,
    /// The project whose plans and logs of started runs are looked at.
    pub project: Option<PathBuf>,
    /// Who can look up the commits of plans.
    pub history: Option<Arc<dyn PlanHistory>>,
    /// The timestamps by authorities.
    pub timestamps: Arc<Timestamps>,
    /// The attestations by builders.
    pub attestations: Arc<Attestations>,
    /// Files with the texts of posts that do not redistribute them, known by their digests.
    pub texts: Vec<PathBuf>,
    /// Intervals of runs that are to be replayed, and the files with them.
    pub challenges: Vec<(Challenge, String)>,
    /// Whether steps are executed for challenges alone, and not for slices and posts.
    pub challenges_alone: bool,
    /// Who knows the weights that seeds give.
    pub initial_weights: Option<&'static dyn InitialWeights>,
    /// Whether the locks of posts are written anew, so that they pin nothing now.
    pub repin: bool,
    /// Whether there are to be pictures.
    pub pictures: bool,
}

impl Demands {
    /// The challenge of this bundle.
    fn challenge_of(&self, bundle: &Bundle) -> Option<(&Challenge, &str)> {
        let own = self.challenges.iter().find(|(challenge, _)| challenge.bundle == bundle.digest());
        own.map(|(challenge, file)| (challenge, file.as_str()))
    }

    /// An error for each challenge that is of none of the bundles with these digests.
    pub fn foreign_challenges(&self, bundles: impl Iterator<Item = Digest>) -> Vec<Error> {
        let bundles: Vec<_> = bundles.collect();
        let foreign = self.challenges.iter().filter_map(|(challenge, file)| {
            let expected = match bundles.as_slice() {
                own if own.contains(&challenge.bundle) => return None,
                [only] => only.prefixed(),
                own => format!("the digest of one of the {} bundles", own.len()),
            };
            Some(OTHER_CHALLENGE.at(Location::file(file), expected, challenge.bundle.prefixed()))
        });
        foreign.collect()
    }
}

/// Verifies the posts `ids` below `root`, with at most `threads` posts, files or claims at a time, and
/// executes nothing.
pub fn verify(root: &Path, ids: &[String], demands: &Demands, threads: usize) -> Report {
    verify_with(root, ids, demands, threads, None)
}

/// Verifies the posts in the same way, and has a replayer execute what their claims ask for.
pub fn verify_with<'r>(
    root: &Path,
    ids: &[String],
    demands: &Demands,
    reading: impl Into<ReadOptions<'r>>,
    replayer: Option<&mut dyn Replayer>,
) -> Report {
    let mut report = Report::default();
    verify_into(root, ids, demands, reading, replayer, &mut report);
    report
}

/// The same, and hands over what each post came to as soon as that is known.
pub fn verify_into<'r>(
    root: &Path,
    ids: &[String],
    demands: &Demands,
    reading: impl Into<ReadOptions<'r>>,
    replayer: Option<&mut dyn Replayer>,
    sink: &mut (dyn ReportSink + Send),
) {
    let reading = reading.into();
    let threads = reading.threads;
    let given =
        ReviewPolicy::load(root).and_then(|policy| Ok((policy, GivenTexts::load(&demands.texts)?)));
    let (policy, given) = match given {
        Ok(given) => given,
        Err(error) => return sink.take(ReportPart::refused(PartSubject::Run, vec![error])),
    };
    let mut store = BundleStore::new(reading, &demands.keys);
    store.attestations.clone_from(&demands.attestations);
    store.history.clone_from(&demands.history);
    let read = |id: &String| -> Result<_, Error> {
        let page = PostPage::load(root, id)?;
        let pins = (!demands.repin).then(|| lock::read(root, &page.id));
        Ok((page, pins))
    };
    let loaded = parallel::map(ids, threads, read);
    // Bundles of all posts at once keep every thread busy, however few a post has.
    let pages = loaded.iter().flatten().map(|(page, _)| page);
    store.load(root, pages.flat_map(PostPage::bundles).map(|(name, _)| name));
    let fetched = loaded.into_iter().map(|read| {
        let (page, pins) = read.map_err(|error| vec![error])?;
        without_shadows(&page)?;
        let pins = pins.transpose().map_err(|error| vec![error])?.flatten();
        store.fetch(root, &page, pins.as_ref())?;
        let texts = given.of(&page, root)?;
        Ok((page, texts))
    });
    let posts: Vec<Result<(PostPage, TextsAtHand), Vec<Error>>> = fetched.collect();
    let mut replayed = 0;
    if let Some(replayer) = replayer.filter(|_| !demands.challenges_alone) {
        let pages = posts.iter().flatten().map(|(page, _)| page);
        let mut wanted: Vec<_> = pages.flat_map(|page| replays_of(page, &store.library)).collect();
        distinct(&mut wanted);
        let replays = replayer.replay(&wanted);
        replayed = executed(&replays);
        store.library.replays = replays;
    }
    let judging = Judging { root, demands, policy: &policy, library: &store.library };
    let posts: Vec<_> = std::iter::zip(ids, posts).collect();
    // Posts share what was executed: it is counted with the first, and what several posts refuse alike is told once.
    let mut told = None;
    let take = |mut part: ReportPart| {
        part.tell_once(&mut told);
        part.replayed = std::mem::take(&mut replayed);
        sink.take(part);
    };
    parallel::in_order(
        &posts,
        threads,
        |(id, post), threads| judging.part(id, post, threads),
        take,
    );
    // Freeing the bundles takes tens of milliseconds, and the caller need not wait for it.
    let _ = thread::Builder::new().spawn(move || drop(store.library));
}

/// The context for judging the posts of one run of the program.
struct Judging<'j> {
    root: &'j Path,
    demands: &'j Demands,
    policy: &'j ReviewPolicy,
    library: &'j Library,
}

impl Judging<'_> {
    /// The report on a post, judged by at most `threads` threads; an unreadable post is rejected.
    fn part(
        &self,
        id: &str,
        post: &Result<(PostPage, TextsAtHand), Vec<Error>>,
        threads: usize,
    ) -> ReportPart {
        let subject = PartSubject::Post(id.to_owned());
        let (page, texts) = match post {
            Ok(read) => (&read.0, &read.1),
            Err(errors) => return ReportPart::refused(subject, errors.clone()),
        };
        let Judged { mut post, failures } = judge(page, self.library, texts, threads);
        review::apply(&mut post, &Reviews::load(self.root, id), self.policy);
        if self.demands.pictures {
            post.pictures = pictures::of_post(page, self.library, &post);
        }
        let below_minimum = below(&post, self.demands, self.policy.min_reading);
        ReportPart { subject, post: Some(post), failures, below_minimum, replayed: 0 }
    }
}

/// How many replays were executed.
pub fn executed(replays: &Replays) -> usize {
    replays.values().filter(|answer| matches!(answer, ReplayOutcome::Done(_))).count()
}

/// A post with its claims judged, and what could not be judged.
#[derive(Debug)]
pub struct Judged {
    /// The post.
    pub post: PostReport,
    /// Claims that are malformed, or whose evidence is.
    pub failures: Vec<Error>,
}

/// Judges every sentence and table of `page` on the bundles of `library`, at most `threads` at a time.
pub fn judge(page: &PostPage, library: &Library, texts: &TextsAtHand, threads: usize) -> Judged {
    judge_within(page, library, texts, threads, &Work::of_a_post())
}

/// The same within other bounds of the work.
pub fn judge_within(
    page: &PostPage,
    library: &Library,
    texts: &TextsAtHand,
    threads: usize,
    work: &Work,
) -> Judged {
    let context = PostContext::new(page, library, texts, work);
    let judge = |one: &PostStatement| statement::judge(&context, one);
    let reports = parallel::map(&page.statements, threads, judge);
    let mut claims = Vec::new();
    let mut failures = Vec::new();
    for report in reports {
        match report {
            Ok(reports) => claims.extend(reports),
            Err(error) => failures.push(error),
        }
    }
    failures.extend(excuses_not_there(&context));
    failures.extend(transcribed::differences(&context, &claims));
    contradicted(page, library, &mut claims);
    each_its_own_id(&mut claims);
    let read = texts_of(&context, texts, &claims);
    // Which claims came too late depends on the threads; that some did does not.
    if let Err(error) = work.goes_on(&page.place()) {
        let post = reported(page, Vec::new(), Vec::new(), library);
        return Judged { post, failures: vec![error] };
    }
    let mut post = reported(page, claims, read, library);
    let hidden = texts.values().filter_map(TextAtHand::hidden_numbers);
    let hidden = hidden.map(|told| Finding::new(&HIDDEN, Severity::Note, told, page.place()));
    post.findings.extend(hidden);
    Judged { post, failures }
}

/// The errors of excuses whose words their text, which is available, does not have.
fn excuses_not_there(context: &PostContext<'_>) -> Vec<Error> {
    let error = |excuse: &Excuse| {
        let places = context.text(&excuse.text)?.places_of_quote("", &excuse.quote);
        let hidden = || context.hidden(&excuse.text, &excuse.quote);
        let found = || match hidden() {
            Some(hidden) => format!("\"{}\": {hidden}", excuse.quote),
            None => format!("\"{}\"", excuse.quote),
        };
        places.is_empty().then(|| NOT_THERE.at(excuse.place.clone(), "words in the text", found()))
    };
    context.page.excused.iter().filter_map(error).collect()
}

/// Adds where the bundles of a post contradict themselves; what rests on such a bundle is not decided.
fn contradicted(page: &PostPage, library: &Library, claims: &mut Vec<ClaimReport>) {
    for (name, _) in page.bundles() {
        let own = library.contradictions(name);
        let Some(first) = own.first().and_then(|claim| claim.outcome.code) else { continue };
        let rests = |claim: &&mut ClaimReport| claim.evidence.iter().any(|one| one.bundle == name);
        for claim in claims.iter_mut().filter(rests) {
            let outcome = std::mem::replace(&mut claim.outcome, Outcome::verified());
            claim.outcome = match outcome.verdict {
                Verdict::Verified | Verdict::Refuted => {
                    let reason = format!("`{name}` contradicts itself: {}", first.meaning);
                    outcome.undecided(&CONTRADICTED, reason)
                }
                _ => outcome,
            };
        }
        let with_bundle = |claim: &ClaimReport| ClaimReport {
            id: format!("{name}.{}", claim.id),
            ..claim.clone()
        };
        claims.extend(own.iter().map(with_bundle));
    }
}

/// Which texts of a post were read, and which of their numbers nothing binds.
fn texts_of(
    context: &PostContext<'_>,
    at_hand: &TextsAtHand,
    claims: &[ClaimReport],
) -> Vec<TextReport> {
    let page = context.page;
    let one = |text: &TextSource| {
        let read = context.text(&text.id);
        let numbers = read.map(|read| covered_in(page, text, read, context.work).numbers);
        let numbers = numbers.unwrap_or_default();
        let unbound = numbers.iter().filter(|number| number.is_unbound());
        let excused =
            numbers.iter().filter(|number| number.bound_by.is_empty() && !number.is_unbound());
        let known = at_hand.get(&text.id);
        TextReport {
            id: text.id.clone(),
            what: text.what.clone(),
            file: text.file.clone(),
            is_at_hand: read.is_some(),
            digest: known.map(|text| text.digest.prefixed()),
            unbound: unbound.map(|one| format!("{} (line {})", one.text, one.line)).collect(),
            excused: excused.count(),
            content: known.map(|text| text.content.clone()).unwrap_or_default(),
            markup: known.map_or(TextMarkup::AsWritten, |text| text.markup),
            numbers: NumberedClaims::of(claims).numbers(numbers),
        }
    };
    if page.texts.is_empty() {
        // Words that nobody can look up are as good as none.
        let what = "the post file lists no text, in `text` or `[texts.NAME]`".to_owned();
        return vec![TextReport::not_at_hand(String::new(), what)];
    }
    page.texts.iter().map(one).collect()
}

/// Numbers claims of one name, such as the cells below two columns of one head.
fn each_its_own_id(claims: &mut [ClaimReport]) {
    let mut used: HashMap<String, usize> = HashMap::new();
    for claim in claims {
        let count = used.entry(claim.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            claim.id = format!("{}-{count}", claim.id);
        }
    }
}

/// Remarks on a post besides its claims: that it lists no text, that a program has drafted statements which
/// nobody has confirmed, that it pairs runs whose pairs no plan declared.
fn remarks(page: &PostPage, drafted: usize) -> impl Iterator<Item = Finding> {
    let no_text = page.texts.is_empty().then(|| {
        let message = "no quote was checked, and no number in a text is covered";
        Finding::new(&NONE_NAMED, Severity::Warning, message, page.place())
    });
    let unconfirmed = (drafted > 0).then(|| {
        let have = if drafted == 1 { "has" } else { "have" };
        let message = format!(
            "{drafted} of its statements {have} `{DRAFTED}` above: the digits match the evidence, but nobody has confirmed what the words mean"
        );
        Finding::new(&UNCONFIRMED, Severity::Warning, message, page.place())
    });
    let paired = page.paired_by_seed.clone().map(|place| {
        let message = "unplanned runs are paired by seed, after the results were known";
        Finding::new(&AFTER_THE_FACT, Severity::Note, message, place)
    });
    [no_text, unconfirmed, paired].into_iter().flatten()
}

/// The report of a post whose claims are judged.
fn reported(
    page: &PostPage,
    claims: Vec<ClaimReport>,
    texts: Vec<TextReport>,
    library: &Library,
) -> PostReport {
    let drafted = page.drafted();
    let claims = with_lines(claims, &texts);
    let mut findings: Vec<_> = claims.iter().flat_map(findings_of).collect();
    findings.extend(remarks(page, drafted));
    let (mut bundles, mut studies) = (Vec::new(), BTreeSet::new());
    for (name, _) in page.bundles() {
        let Some(bundle) = library.bundle(name) else { continue };
        let signature = library.signature(&page.id, name).cloned();
        let described = describe(bundle, signature, library.builders.get(name).cloned());
        findings.extend(signature_finding(bundle, &described));
        findings.extend(emitter_problems(bundle));
        studies.extend(bundle.receipt().run.as_ref().and_then(|run| run.study.as_deref()));
        bundles.push(described);
    }
    let started = studies.into_iter().filter_map(|study| library.started.get(study));
    findings.extend(started.flat_map(StartedRuns::findings));
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| {
            (finding.severity, finding.place.line, finding.place.column, finding.code.id)
        };
        key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
    });
    PostReport {
        id: page.id.clone(),
        title: page.title.clone(),
        file: page.file().to_owned(),
        digest: page.digest().prefixed(),
        texts,
        definitions: page.definitions(),
        excused: page.excuses(),
        bundles,
        claims,
        findings,
        referee: page.referee.clone(),
        central: page.central.clone(),
        drafted,
        ..PostReport::default()
    }
}

/// Claims with the lines of the text that has their numbers, where nothing else says where their words stand.
fn with_lines(mut claims: Vec<ClaimReport>, texts: &[TextReport]) -> Vec<ClaimReport> {
    let mut lines = HashMap::new();
    for text in texts {
        for number in &text.numbers {
            let place = TextPlace {
                text: text.id.clone(),
                file: text.file.clone(),
                line: number.line,
                span: [number.span.start, number.span.end],
            };
            for id in &number.claims {
                lines.entry(id.as_str()).or_insert_with(|| place.clone());
            }
        }
    }
    for claim in &mut claims {
        let line = || lines.get(claim.id.as_str()).cloned();
        claim.meaning.written_at = claim.meaning.written_at.take().or_else(line);
    }
    claims
}

fn describe(
    bundle: &Bundle,
    signature: Option<SignatureReport>,
    attested_by: Option<String>,
) -> BundleReport {
    BundleReport {
        name: bundle.name().to_owned(),
        digest: bundle.digest().prefixed(),
        origin: EvidenceOrigin::from(bundle.origin())
            .vouched_for(signature.as_ref(), attested_by.is_some()),
        signature,
        attested_by,
    }
}

/// A finding for a signature that is not verified.
fn signature_finding(bundle: &Bundle, described: &BundleReport) -> Option<Finding> {
    let signature = described.signature.as_ref()?;
    let message = format!("`{}`: {}", described.name, signature.reason);
    let severity = severity(signature.verdict);
    Some(Finding::new(signature.code?, severity, message, bundle.place(SIGNATURE)))
}

fn severity(verdict: Verdict) -> Severity {
    match verdict {
        Verdict::Refuted => Severity::Error,
        Verdict::Inconclusive => Severity::Warning,
        Verdict::Unchecked | Verdict::Verified => Severity::Note,
    }
}

/// A finding for a verdict that is not verified, and one for each note.
fn findings_of(claim: &ClaimReport) -> Vec<Finding> {
    let finding = |code, severity, message: &String| Finding {
        claim: Some(claim.id.clone()),
        ..Finding::new(code, severity, message, claim.place.clone())
    };
    let Outcome { verdict, code, reason, notes, .. } = &claim.outcome;
    let main = code.map(|code| finding(code, severity(*verdict), reason));
    let notes = notes.iter().map(|(code, message)| finding(code, Severity::Note, message));
    main.into_iter().chain(notes).collect()
}

/// Verified claims of a post whose evidence is weaker than the caller accepts, or whose reading is; `least_reading` is what the
/// project asks for where the caller asks for nothing.
pub fn below(post: &PostReport, minimum: &Demands, least_reading: Option<ReadBy>) -> Vec<String> {
    let least_reading = minimum.reading.or(least_reading);
    let is_weak = |claim: &&ClaimReport| {
        minimum.origin.is_some_and(|least| claim.origin.is_none_or(|origin| origin < least))
            || minimum
                .method
                .is_some_and(|least| claim.outcome.method.is_none_or(|method| method < least))
            || least_reading.is_some_and(|least| is_read_by_less(claim, least))
    };
    let verified = post.claims.iter().filter(|claim| claim.outcome.verdict == Verdict::Verified);
    verified.filter(is_weak).map(|claim| format!("{}/{}", post.id, claim.id)).collect()
}

/// Whether nobody of this weight says that the words of a claim mean its fact. A claim that binds no words needs nobody, and an
/// exempted one is let pass.
fn is_read_by_less(claim: &ClaimReport, least: ReadBy) -> bool {
    !claim.meaning.review.is_exempted && claim.meaning.read_by.is_some_and(|by| by < least)
}
