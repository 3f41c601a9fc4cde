"""The words of the quickstart's grammar, with their irregular forms; ``words`` explains the columns."""

from examples.common.grammar.words import adjectives, nouns, verbs

PEOPLE = nouns(
    """
    man        men         der  Mann       Männer        Mannes
    woman      women       die  Frau       Frauen        Frau
    child      children    das  Kind       Kinder        Kindes
    girl       girls       das  Mädchen    Mädchen       Mädchens
    boy        boys        der  Junge      Jungen        Jungen     weak
    king       kings       der  König      Könige        Königs
    queen      queens      die  Königin    Königinnen    Königin
    teacher    teachers    der  Lehrer     Lehrer        Lehrers
    doctor     doctors     die  Ärztin     Ärztinnen     Ärztin
    farmer     farmers     der  Bauer      Bauern        Bauern     weak
    judge      judges      die  Richterin  Richterinnen  Richterin
    student    students    der  Student    Studenten     Studenten  weak
    soldier    soldiers    der  Soldat     Soldaten      Soldaten   weak
    witch      witches     die  Hexe       Hexen         Hexe
    thief      thieves     der  Dieb       Diebe         Diebes
    neighbour  neighbours  der  Nachbar    Nachbarn      Nachbarn   weak
    baby       babies      das  Baby       Babys         Babys
    """,
    human=True,
)

RELATIVES = nouns(
    """
    mother   mothers   die  Mutter     Mütter      Mutter
    father   fathers   der  Vater      Väter       Vaters
    sister   sisters   die  Schwester  Schwestern  Schwester
    brother  brothers  der  Bruder     Brüder      Bruders
    aunt     aunts     die  Tante      Tanten      Tante
    uncle    uncles    der  Onkel      Onkel       Onkels
    friend   friends   der  Freund     Freunde     Freundes
    """,
    human=True,
)

ANIMALS = nouns(
    """
    dog    dogs    der  Hund     Hunde     Hundes
    cat    cats    die  Katze    Katzen    Katze
    horse  horses  das  Pferd    Pferde    Pferdes
    bear   bears   der  Bär      Bären     Bären      weak
    fox    foxes   der  Fuchs    Füchse    Fuchses
    mouse  mice    die  Maus     Mäuse     Maus
    bird   birds   der  Vogel    Vögel     Vogels
    pig    pigs    das  Schwein  Schweine  Schweines
    lion   lions   der  Löwe     Löwen     Löwen      weak
    goose  geese   die  Gans     Gänse     Gans
    """,
    human=False,
)

THINGS = nouns(
    """
    book     books     das  Buch       Bücher     Buches
    letter   letters   der  Brief      Briefe     Briefes
    apple    apples    der  Apfel      Äpfel      Apfels
    picture  pictures  das  Bild       Bilder     Bildes
    key      keys      der  Schlüssel  Schlüssel  Schlüssels
    flower   flowers   die  Blume      Blumen     Blume
    lamp     lamps     die  Lampe      Lampen     Lampe
    coat     coats     der  Mantel     Mäntel     Mantels
    knife    knives    das  Messer     Messer     Messers
    chair    chairs    der  Stuhl      Stühle     Stuhls
    cup      cups      die  Tasse      Tassen     Tasse
    shirt    shirts    das  Hemd       Hemden     Hemdes
    """,
    human=False,
)

NOUNS = {**PEOPLE, **RELATIVES, **ANIMALS, **THINGS}

TRANSITIVE = verbs(
    """
    see        sees        saw          seen         sehen        sieht       sah          gesehen
    love       loves       loved        loved        lieben       liebt       liebte       geliebt
    hear       hears       heard        heard        hören        hört        hörte        gehört
    seek       seeks       sought       sought       suchen       sucht       suchte       gesucht
    find       finds       found        found        finden       findet      fand         gefunden
    visit      visits      visited      visited      besuchen     besucht     besuchte     besucht
    greet      greets      greeted      greeted      grüßen       grüßt       grüßte       gegrüßt
    praise     praises     praised      praised      loben        lobt        lobte        gelobt
    watch      watches     watched      watched      beobachten   beobachtet  beobachtete  beobachtet
    admire     admires     admired      admired      bewundern    bewundert   bewunderte   bewundert
    forget     forgets     forgot       forgotten    vergessen    vergisst    vergaß       vergessen
    call       calls       called       called       an+rufen     ruft        rief         angerufen
    invite     invites     invited      invited      ein+laden    lädt        lud          eingeladen
    fetch      fetches     fetched      fetched      ab+holen     holt        holte        abgeholt
    arrest     arrests     arrested     arrested     fest+nehmen  nimmt       nahm         festgenommen
    look_at    looks_at    looked_at    looked_at    an+sehen     sieht       sah          angesehen
    laugh_at   laughs_at   laughed_at   laughed_at   aus+lachen   lacht       lachte       ausgelacht
    help       helps       helped       helped       helfen       hilft       half         geholfen      dative
    thank      thanks      thanked      thanked      danken       dankt       dankte       gedankt       dative
    follow     follows     followed     followed     folgen       folgt       folgte       gefolgt       dative  sein
    trust      trusts      trusted      trusted      vertrauen    vertraut    vertraute    vertraut      dative
    answer     answers     answered     answered     antworten    antwortet   antwortete   geantwortet   dative
    listen_to  listens_to  listened_to  listened_to  zu+hören     hört        hörte        zugehört      dative
    """
)

# Objects of these are things.
HANDLING = verbs(
    """
    buy         buys         bought      bought       kaufen      kauft     kaufte    gekauft
    lose        loses        lost        lost         verlieren   verliert  verlor    verloren
    carry       carries      carried     carried      tragen      trägt     trug      getragen
    need        needs        needed      needed       brauchen    braucht   brauchte  gebraucht
    throw_away  throws_away  threw_away  thrown_away  weg+werfen  wirft     warf      weggeworfen
    """
)

DITRANSITIVE = {
    **verbs(
        """
        give       gives       gave        given       geben         gibt        gab        gegeben        double
        show       shows       showed      shown       zeigen        zeigt       zeigte     gezeigt        double
        send       sends       sent        sent        schicken      schickt     schickte   geschickt      double
        sell       sells       sold        sold        verkaufen     verkauft    verkaufte  verkauft       double
        return     returns     returned    returned    zurück+geben  gibt        gab        zurückgegeben
        describe   describes   described   described   beschreiben   beschreibt  beschrieb  beschrieben
        introduce  introduces  introduced  introduced  vor+stellen   stellt      stellte    vorgestellt
        """,
        preposition="to",
    ),
    **verbs(
        """
        steal      steals      stole      stolen      stehlen     stiehlt  stahl  gestohlen
        take_away  takes_away  took_away  taken_away  weg+nehmen  nimmt    nahm   weggenommen
        """,
        preposition="from",
    ),
}

INTRANSITIVE = verbs(
    """
    sleep        sleeps        slept        slept          schlafen      schläft  schlief  geschlafen
    sing         sings         sang         sung           singen        singt    sang     gesungen
    dance        dances        danced       danced         tanzen        tanzt    tanzte   getanzt
    laugh        laughs        laughed      laughed        lachen        lacht    lachte   gelacht
    wait         waits         waited       waited         warten        wartet   wartete  gewartet
    cry          cries         cried        cried          weinen        weint    weinte   geweint
    arrive       arrives       arrived      arrived        an+kommen     kommt    kam      angekommen     sein
    get_up       gets_up       got_up       got_up         auf+stehen    steht    stand    aufgestanden   sein
    fall_asleep  falls_asleep  fell_asleep  fallen_asleep  ein+schlafen  schläft  schlief  eingeschlafen  sein
    go_away      goes_away     went_away    gone_away      weg+gehen     geht     ging     weggegangen    sein
    """
)

# With a clause ("says that", "knows whether") or an infinitive ("tries to", "asks the man to").
SAYING = verbs(
    """
    say      says      said      said      sagen    sagt    sagte    gesagt
    believe  believes  believed  believed  glauben  glaubt  glaubte  geglaubt
    think    thinks    thought   thought   denken   denkt   dachte   gedacht
    hope     hopes     hoped     hoped     hoffen   hofft   hoffte   gehofft
    """
)
KNOWING = verbs(
    """
    know    knows    knew    known      wissen     weiß      wusste  gewusst
    forget  forgets  forgot  forgotten  vergessen  vergisst  vergaß  vergessen
    """
)
TRYING = verbs(
    """
    try  tries  tried  tried  versuchen  versucht  versuchte  versucht
    """
)
ASKING = verbs(
    """
    ask      asks      asked     asked     bitten       bittet      bat        gebeten
    promise  promises  promised  promised  versprechen  verspricht  versprach  versprochen  dative
    """
)


CHARACTERS = adjectives(
    """
    old     alt        alt        older     älter
    young   jung       jung       younger   jünger
    big     groß       groß       bigger    größer
    small   klein      klein      smaller   kleiner
    strong  stark      stark      stronger  stärker
    clever  klug       klug       cleverer  klüger
    rich    reich      reich      richer    reicher
    poor    arm        arm        poorer    ärmer
    happy   glücklich  glücklich  happier   glücklicher
    sad     traurig    traurig    sadder    trauriger
    tired   müde       müd
    hungry  hungrig    hungrig
    angry   wütend     wütend
    ill     krank      krank
    """
)

QUALITIES = adjectives(
    """
    red        rot     rot
    green      grün    grün
    white      weiß    weiß
    new        neu     neu
    dark       dunkel  dunkl
    expensive  teuer   teur
    """
)

TIMES = {
    "today": "heute",
    "now": "jetzt",
    "often": "oft",
    "sometimes": "manchmal",
    "every day": "jeden Tag",
    "yesterday": "gestern",
}

PLACES = {
    "in the garden": "im Garten",
    "behind the house": "hinter dem Haus",
    "in front of the church": "vor der Kirche",
    "at the market": "auf dem Markt",
    "under the bridge": "unter der Brücke",
    "in the kitchen": "in der Küche",
    "beside the river": "neben dem Fluss",
    "in the city": "in der Stadt",
}

FOCUS = {"only": "nur", "even": "sogar"}

COUNTED = {"two": "zwei", "three": "drei", "many": "viele", "some": "einige"}
POSSESSIVES = {"my": "mein", "our": "unser", "his": "sein", "her": "ihr", "their": "ihr"}

CONJUNCTIONS = {
    "that": "dass",
    "whether": "ob",
    "because": "weil",
    "although": "obwohl",
    "while": "während",
    "before": "bevor",
    "if": "wenn",
    "why": "warum",
    "where": "wo",
}
COORDINATORS = {"and": "und", "but": ", aber", "or": "oder"}
